#include "decision_texts.h"

#include <fmt/args.h>
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <stdexcept>

namespace rdmabench::analysis {
namespace {

// Korean particles depend on the sound before them. A name is followed by the word for network or
// side, so that the particle is right after any name.
constexpr TextRow kTexts[] = {
    {"question", "Is {a} worth it over {b} for this job?",
     "이 작업에 {b} 대신 {a} 네트워크를 쓸 가치가 있습니까?"},
    {"subject",
     "{job}, {parallel}. Tokens per GPU and step: {tokens}; GPUs per node: {gpus}; nodes: {from} "
     "to {to}; measured operation: {operation}.",
     "{job}, {parallel}. 스텝마다 GPU당 토큰 {tokens}개, 노드당 GPU {gpus}개, 노드 {from}~{to}대. "
     "측정한 연산: {operation}."},
    {"job_data", "data parallel", "데이터 병렬"},
    {"job_sharded", "sharded (ZeRO-3, FSDP)", "샤딩(ZeRO-3, FSDP)"},
    {"answer_yes", "YES", "예"},
    {"answer_no", "NO", "아니요"},
    {"answer_not_proven", "NOT PROVEN", "아직 입증되지 않음"},

    {"time_less",
     "At {nodes} nodes a step takes {step_a} on {a} instead of {step_b} on {b}: {change} % less, "
     "likely {low} to {high} %.",
     "노드 {nodes}대에서 한 스텝은 {b} 네트워크에서 {step_b}, {a} 네트워크에서 {step_a} 걸립니다. "
     "{a} 쪽이 {change}% 짧습니다(추정 범위 {low}~{high}%)."},
    {"time_less_wide",
     "At {nodes} nodes a step takes {step_a} on {a} instead of {step_b} on {b}: {change} % less, "
     "but anything from {low} % more to {high} % less is likely.",
     "노드 {nodes}대에서 한 스텝은 {b} 네트워크에서 {step_b}, {a} 네트워크에서 {step_a} 걸립니다. "
     "{a} 쪽이 {change}% 짧지만, {low}% 더 긴 경우부터 {high}% 더 짧은 경우까지 모두 추정 범위에 "
     "듭니다."},
    {"time_less_one",
     "At {nodes} nodes a step takes {step_a} on {a} instead of {step_b} on {b}: {change} % less. A "
     "single launch has no likely range.",
     "노드 {nodes}대에서 한 스텝은 {b} 네트워크에서 {step_b}, {a} 네트워크에서 {step_a} 걸립니다. "
     "{a} 쪽이 {change}% 짧지만, 한 번만 실행해서는 추정 범위를 알 수 없습니다."},
    {"time_more",
     "At {nodes} nodes a step takes {step_a} on {a} instead of {step_b} on {b}: {change} % more, "
     "likely {low} to {high} %.",
     "노드 {nodes}대에서 한 스텝은 {b} 네트워크에서 {step_b}, {a} 네트워크에서 {step_a} 걸립니다. "
     "{a} 쪽이 {change}% 더 깁니다(추정 범위 {low}~{high}%)."},
    {"time_more_wide",
     "At {nodes} nodes a step takes {step_a} on {a} instead of {step_b} on {b}: {change} % more, "
     "but anything from {low} % less to {high} % more is likely.",
     "노드 {nodes}대에서 한 스텝은 {b} 네트워크에서 {step_b}, {a} 네트워크에서 {step_a} 걸립니다. "
     "{a} 쪽이 {change}% 더 길지만, {low}% 더 짧은 경우부터 {high}% 더 긴 경우까지 모두 추정 "
     "범위에 듭니다."},
    {"time_more_one",
     "At {nodes} nodes a step takes {step_a} on {a} instead of {step_b} on {b}: {change} % more. A "
     "single launch has no likely range.",
     "노드 {nodes}대에서 한 스텝은 {b} 네트워크에서 {step_b}, {a} 네트워크에서 {step_a} 걸립니다. "
     "{a} 쪽이 {change}% 더 길지만, 한 번만 실행해서는 추정 범위를 알 수 없습니다."},
    {"cost_less",
     "At these prices that step costs {change} % less on {a} than on {b}, likely {low} to {high} "
     "%.",
     "제시된 단가라면 이 스텝의 비용은 {a} 쪽이 {b} 쪽보다 {change}% 낮으며, 추정 범위는 "
     "{low}~{high}%입니다."},
    {"cost_less_wide",
     "At these prices that step costs {change} % less on {a} than on {b}, but anything from {low} "
     "% more to {high} % less is likely.",
     "제시된 단가라면 이 스텝의 비용은 {a} 쪽이 {b} 쪽보다 {change}% 낮지만, {low}% 더 비싼 경우부터 {high}% 더 싼 "
     "경우까지 모두 추정 범위에 듭니다."},
    {"cost_less_one", "At these prices that step costs {change} % less on {a} than on {b}.",
     "제시된 단가라면 이 스텝의 비용은 {a} 쪽이 {b} 쪽보다 {change}% 낮습니다."},
    {"cost_more",
     "At these prices that step costs {change} % more on {a} than on {b}, likely {low} to {high} "
     "%.",
     "제시된 단가라면 이 스텝의 비용은 {a} 쪽이 {b} 쪽보다 {change}% 높으며, 추정 범위는 "
     "{low}~{high}%입니다."},
    {"cost_more_wide",
     "At these prices that step costs {change} % more on {a} than on {b}, but anything from {low} "
     "% less to {high} % more is likely.",
     "제시된 단가라면 이 스텝의 비용은 {a} 쪽이 {b} 쪽보다 {change}% 높지만, {low}% 더 싼 경우부터 {high}% 더 비싼 "
     "경우까지 모두 추정 범위에 듭니다."},
    {"cost_more_one", "At these prices that step costs {change} % more on {a} than on {b}.",
     "제시된 단가라면 이 스텝의 비용은 {a} 쪽이 {b} 쪽보다 {change}% 높습니다."},
    {"rule_time",
     "The rule: YES if over the whole likely range {b} takes more than {margin} % longer for a "
     "step than {a}; NO if over none of it; else NOT PROVEN. Only the time counts here, because no "
     "prices were given.",
     "판정 기준: 추정 범위 전체에서 {b} 쪽의 스텝 시간이 {a} 쪽보다 {margin}% 넘게 길면 '예', 추정 "
     "범위 어디에서도 그렇지 않으면 '아니요', 그 밖에는 '아직 입증되지 않음'입니다. 단가가 "
     "주어지지 않아 시간만 비교했습니다."},
    {"rule_cost",
     "The rule: YES if over the whole likely range a step costs less on {a} than on {b}; NO if "
     "over none of it; else NOT PROVEN. Judged at {nodes} nodes.",
     "판정 기준: 노드 {nodes}대에서 추정 범위 전체에 걸쳐 {a} 쪽의 스텝당 비용이 {b} 쪽보다 낮으면 "
     "'예', 추정 범위 어디에서도 낮지 않으면 '아니요', 그 밖에는 '아직 입증되지 않음'입니다."},

    {"title_money", "How much money", "비용 차이"},
    {"title_time", "How much time, and how much money it may cost",
     "시간 차이와 감당할 수 있는 추가 비용"},
    {"money_none",
     "Give --price-a and --price-b, the prices of one node for an hour, and this page says what a "
     "step, the run and a month cost.",
     "노드 한 대의 시간당 단가를 --price-a와 --price-b로 지정하면 스텝, 전체 실행, 한 달의 "
     "비용까지 계산합니다."},
    {"price_more",
     "A node of {a} costs {price_a} for an hour and one of {b} {price_b}: {extra}, or {percent} %, "
     "more.",
     "노드 한 대의 시간당 단가는 {a} 쪽 {price_a}, {b} 쪽 {price_b}입니다. {a} 쪽이 {extra}, 즉 {percent}% 더 "
     "비쌉니다."},
    {"price_less",
     "A node of {a} costs {price_a} for an hour and one of {b} {price_b}: {extra}, or {percent} %, "
     "less.",
     "노드 한 대의 시간당 단가는 {a} 쪽 {price_a}, {b} 쪽 {price_b}입니다. {a} 쪽이 {extra}, 즉 {percent}% 더 "
     "쌉니다."},
    {"price_same", "A node costs {price_a} for an hour on either network.",
     "노드 한 대의 시간당 단가는 두 네트워크 모두 {price_a}입니다."},
    {"premium_up",
     "{a} pays up to a price {premium} % above that of {b}, likely {low} to {high} %; beyond that "
     "it stops paying.",
     "{a} 쪽 단가가 {b} 쪽보다 {premium}% 높은 수준까지는 이득이며(추정 범위 {low}~{high}%), "
     "그보다 비싸면 손해입니다."},
    {"premium_down",
     "{a} pays only at a price at least {premium} % below that of {b}, likely {low} to {high} %.",
     "{a} 쪽 단가가 {b} 쪽보다 {premium}% 이상 낮아야 이득입니다(추정 범위 {low}~{high}%)."},
    {"premium_up_wide",
     "{a} pays up to a price {premium} % above that of {b}, likely between {low} % below and "
     "{high} % above it.",
     "{a} 쪽 단가가 {b} 쪽보다 {premium}% 높은 수준까지는 이득이지만, 추정 범위는 {low}% 낮은 "
     "값부터 {high}% 높은 값까지로 넓습니다."},
    {"premium_down_wide",
     "{a} pays only at a price at least {premium} % below that of {b}, likely between {low} % below "
     "and {high} % above it.",
     "{a} 쪽 단가가 {b} 쪽보다 {premium}% 이상 낮아야 이득이지만, 추정 범위는 {low}% 낮은 값부터 {high}% 높은 값까지로 "
     "넓습니다."},
    {"premium_up_one", "{a} pays up to a price {premium} % above that of {b}.",
     "{a} 쪽 단가가 {b} 쪽보다 {premium}% 높은 수준까지는 이득입니다."},
    {"premium_down_one", "{a} pays only at a price at least {premium} % below that of {b}.",
     "{a} 쪽 단가가 {b} 쪽보다 {premium}% 이상 낮아야 이득입니다."},
    {"premium_price", "In money: up to {price} for a node and hour of {a}, likely {low} to {high}.",
     "금액으로는 {a} 쪽 노드 한 대의 시간당 단가 {price}까지이며, 추정 범위는 {low}~{high}입니다."},
    {"premium_price_one", "In money: up to {price} for a node and hour of {a}.",
     "금액으로는 {a} 쪽 노드 한 대의 시간당 단가 {price}까지입니다."},
    {"head_work", "At {nodes} nodes", "노드 {nodes}대 기준"},
    {"head_name", "{name}", "{name}"},
    {"head_saved", "saved by {a} (likely)", "{a} 쪽 절감량(추정 범위)"},
    {"work_thousand_steps_time", "{steps} steps, time", "{steps}스텝, 시간"},
    {"work_thousand_steps_cost", "{steps} steps, cost", "{steps}스텝, 비용"},
    {"work_run_time", "run: {steps} steps, time", "학습 전체({steps}스텝), 시간"},
    {"work_run_cost", "run: {steps} steps, cost", "학습 전체({steps}스텝), 비용"},
    {"work_month_of_b_time", "a month's work ({hours} h), time", "한 달({hours}시간) 작업량, 시간"},
    {"work_month_of_b_cost", "a month's work ({hours} h), cost", "한 달({hours}시간) 작업량, 비용"},
    {"work_meaning", "A month's work is what {b} does in it. A minus: {a} takes more.",
     "한 달 작업량은 {b} 네트워크가 한 달 동안 처리하는 양입니다. 음수이면 {a} 쪽이 더 듭니다."},
    {"cell", "{value}", "{value}"},
    {"cell_likely", "{value} ({low} to {high})", "{value} ({low} ~ {high})"},

    {"title_steps", "Step time over the number of nodes", "노드 수에 따른 스텝 시간"},
    {"steps_split",
     "Computing takes {compute} of each step on either network; the network adds what is not hidden "
     "behind it.",
     "어느 네트워크에서든 스텝마다 계산에 {compute} 걸리며, 계산과 겹치지 않는 통신 시간이 "
     "더해집니다."},
    {"steps_left_out", "The table has {shown} of {all} numbers of nodes.",
     "표에는 노드 수 {all}가지 가운데 {shown}가지를 실었습니다."},
    {"chart_compute", "computing, both", "계산(공통)"},
    {"chart_axis", "nodes", "노드 수"},
    {"chart_step", "step time [{unit}]", "스텝 시간 [{unit}]"},
    {"head_nodes", "nodes", "노드 수"},
    {"head_network", "network {name}", "{name} 통신"},
    {"head_step", "step {name}", "{name} 스텝"},
    {"head_change", "{a} against {b}, %", "{b} 대비 {a}, %"},

    {"title_nodes", "From how many nodes {a} pays", "{a} 쪽이 이득인 노드 수"},
    {"head_overlap", "communication hidden behind computing", "계산과 겹치는 통신의 비율"},
    {"head_pays", "{a} pays", "{a} 쪽이 이득인 범위"},
    {"overlap_none", "none, {overlap} %", "겹치지 않음, {overlap}%"},
    {"overlap_none_too", "none, {overlap} %, as assumed", "겹치지 않음, {overlap}%(가정한 값)"},
    {"overlap_assumed", "as assumed, {overlap} %", "가정한 값, {overlap}%"},
    {"overlap_full", "all that can be, {overlap} %", "최대한 겹침, {overlap}%"},
    {"overlap_full_too", "all that can be, {overlap} %, as assumed",
     "최대한 겹침, {overlap}%(가정한 값)"},
    {"pays_always", "at every number from {from} to {to}", "노드 {from}~{to}대 전체"},
    {"pays_never", "at none from {from} to {to}", "노드 {from}~{to}대에서는 없음"},
    {"pays_from", "from about {at} nodes on", "노드 약 {at}대부터"},
    {"pays_until", "up to about {at} nodes", "노드 약 {at}대까지"},
    {"pays_between", "from about {at} to about {until} nodes", "노드 약 {at}~{until}대"},
    {"pays_parts", "in {parts} parts of the range, the first from {at} to {until} nodes",
     "구간 {parts}개로 나뉘며, 첫 구간은 노드 {at}~{until}대"},

    {"title_sure", "How sure this is", "결과의 확실성"},
    {"launches_clean",
     "{name}: {latency} of latency and {bandwidth} of bandwidth, none of them disturbed.",
     "{name}: 지연 시간 측정 {latency}, 대역폭 측정 {bandwidth}회. 방해를 받은 측정은 없습니다."},
    {"launches_some",
     "{name}: {latency} of latency and {bandwidth} of bandwidth, {suspect} of them disturbed: "
     "{what}.",
     "{name}: 지연 시간 측정 {latency}, 대역폭 측정 {bandwidth}회. 그중 {suspect}회가 방해를 "
     "받았습니다: {what}."},
    {"launches_all",
     "{name}: {latency} of latency and {bandwidth} of bandwidth, all {suspect} of them disturbed: "
     "{what}.",
     "{name}: 지연 시간 측정 {latency}, 대역폭 측정 {bandwidth}회. {suspect}회 모두 방해를 "
     "받았습니다: {what}."},
    {"launches_both",
     "{name}: {latency} of latency and {bandwidth} of bandwidth, both of them disturbed: {what}.",
     "{name}: 지연 시간 측정 {latency}, 대역폭 측정 {bandwidth}회. 두 측정 모두 방해를 받았습니다: "
     "{what}."},
    {"count_launch", "{count} launch", "{count}회"},
    {"count_launches", "{count} launches", "{count}회"},
    {"cause_migration", "a thread moved to another processor", "스레드가 다른 프로세서로 옮겨감"},
    {"cause_preemption", "a thread lost its processor to other work",
     "다른 작업에 프로세서를 빼앗김"},
    {"cause_noise", "noise of the machine", "시스템 잡음"},
    {"cause_smt_sibling", "the other half of the core was busy",
     "같은 코어의 다른 하드웨어 스레드가 사용 중"},
    {"cause_stolen", "the hypervisor took time away", "하이퍼바이저가 CPU 시간을 가져감(steal)"},
    {"cause_remote_numa", "a thread ran far from its device", "장치에서 먼 NUMA 노드에서 실행"},
    {"cause_retransmissions", "packets were sent again", "패킷 재전송"},
    {"cause_receiver_not_ready", "no receive buffer was ready", "수신 버퍼 부족"},
    {"cause_congestion", "congestion in the network", "네트워크 혼잡"},
    {"cause_discards", "packets were discarded", "패킷 폐기"},
    {"cause_errors", "errors of the device", "장치 오류"},
    {"cause_counter_reset", "a counter was reset", "카운터 초기화"},
    {"cause_clock", "the clock source changed", "클록 소스 변경"},
    {"cause_other", "{code}", "{code}"},
    {"cause_count", "{cause} ({count})", "{cause} {count}회"},
    {"variation", "From one launch to the next the step time varies by about {variation} %.",
     "스텝 시간의 실행 간 변동은 약 {variation}%입니다."},
    {"ground_proven",
     "The whole likely range lies on one side of the limit: as far as the launches stand for your "
     "network, such an answer is wrong in at most {alpha} of 100 cases.",
     "추정 범위 전체가 판정 기준의 한쪽에 있습니다. 측정이 실제 네트워크를 대표한다면 이런 판정이 "
     "틀리는 경우는 100번 중 많아야 {alpha}번입니다."},
    {"ground_few",
     "There is no verdict from fewer than {needed} launches of each kind on each network; the "
     "fewest here are {launches}.",
     "판정하려면 네트워크마다 지연 시간과 대역폭을 각각 {needed}회 이상 측정해야 하는데, 가장 적은 "
     "쪽이 {launches}회입니다."},
    {"ground_more",
     "The likely range lies on both sides of the limit. More launches of each kind on each network "
     "should settle it ({more} more), if they vary as these do.",
     "추정 범위가 판정 기준의 양쪽에 걸쳐 있습니다. 변동이 지금과 같다면 네트워크마다 지연 시간과 "
     "대역폭을 각각 {more}회 더 측정하면 결론이 날 것입니다."},
    {"ground_noise",
     "The likely range lies on both sides of the limit because these runs vary by {variation} %. "
     "More launches alone will not settle it. Remove the noise first: stop other work on both "
     "nodes, pin both sides to processors near the device (--cpu), and mend what rdmabench doctor "
     "names.",
     "실행 간 변동이 {variation}%여서 추정 범위가 판정 기준의 양쪽에 걸쳐 있습니다. 더 실행하는 "
     "것만으로는 결론이 나지 않으므로 잡음부터 없애십시오. 두 노드에서 다른 작업을 멈추고, 양쪽을 "
     "장치 가까운 프로세서에 고정하고(--cpu), rdmabench doctor가 지적하는 설정을 바로잡으십시오."},
    {"ground_close",
     "The estimate lies so close to the limit that more launches will hardly settle it. Whichever "
     "you take, the difference is small: decide by something else.",
     "추정값이 판정 기준에 매우 가까워 더 실행해도 결론이 나기 어렵습니다. 어느 쪽을 택하든 차이가 "
     "작으므로 다른 기준으로 결정하십시오."},
    {"order",
     "All launches of {first} ran before all of {second}, so whatever changed in between counts as "
     "a difference. Run them in turn, A B B A, as the script of --plan does.",
     "{first} 쪽을 모두 실행한 뒤에 {second} 쪽을 실행했으므로 그사이에 생긴 변화도 두 네트워크의 "
     "차이로 나타납니다. --plan의 스크립트처럼 A B B A 순서로 번갈아 실행하십시오."},
    {"likely_meaning",
     "'Likely' is the {level} % interval over launches. It tells how launches scatter, not how well "
     "the model fits your job.",
     "추정 범위는 실행 간 산포로 계산한 {level}% 신뢰구간입니다. 모델이 실제 작업과 얼마나 "
     "맞는지는 나타내지 않습니다."},

    {"title_flips", "What could flip it", "결론을 바꿀 수 있는 가정"},
    {"flips_pays",
     "By the estimate {a} pays at {nodes} nodes. Each assumption was varied by itself; the nearest "
     "flip comes first.",
     "추정값으로는 노드 {nodes}대에서 {a} 쪽이 이득입니다. 가정을 하나씩 바꾸어 보았고, 조금만 "
     "바꾸어도 결론이 뒤집히는 것부터 적습니다."},
    {"flips_pays_not",
     "By the estimate {a} does not pay at {nodes} nodes. Each assumption was varied by itself; the "
     "nearest flip comes first.",
     "추정값으로는 노드 {nodes}대에서 {a} 쪽이 이득이 아닙니다. 가정을 하나씩 바꾸어 보았고, "
     "조금만 바꾸어도 결론이 뒤집히는 것부터 적습니다."},
    {"flips_none",
     "By the estimate {a} pays at {nodes} nodes. Each assumption was varied by itself; no value "
     "that was tried flips it.",
     "추정값으로는 노드 {nodes}대에서 {a} 쪽이 이득입니다. 가정을 하나씩 바꾸어 보았지만, 시험한 "
     "어떤 값에서도 결론이 뒤집히지 않았습니다."},
    {"flips_none_not",
     "By the estimate {a} does not pay at {nodes} nodes. Each assumption was varied by itself; no "
     "value that was tried flips it.",
     "추정값으로는 노드 {nodes}대에서 {a} 쪽이 이득이 아닙니다. 가정을 하나씩 바꾸어 보았지만, "
     "시험한 어떤 값에서도 결론이 뒤집히지 않았습니다."},
    {"head_assumption", "assumption", "가정"},
    {"head_now", "now", "현재 값"},
    {"head_origin", "from", "출처"},
    {"head_flip", "flips at", "뒤집히는 값"},
    {"head_then", "then", "결과"},
    {"what_overlap", "network time hidden behind computing (--overlap)",
     "계산과 겹치는 통신의 비율(--overlap)"},
    {"what_rails", "links of a node at work (--rails)", "노드당 사용하는 링크 수(--rails)"},
    {"what_mfu", "share of the GPUs' peak in use (--mfu)", "GPU 최대 성능 대비 활용률(--mfu)"},
    {"what_tokens_per_gpu", "tokens per GPU and step (--tokens)",
     "스텝마다 GPU당 토큰 수(--tokens)"},
    {"what_bucket_bytes", "bytes of one all-reduce (--bucket)",
     "all-reduce 한 번의 크기(--bucket)"},
    {"origin_undecided", "DEFAULT, not yours", "기본값(확인 필요)"},
    {"origin_default", "default", "기본값"},
    {"origin_given", "given", "직접 지정"},
    {"origin_measured", "measured", "측정값"},
    {"origin_model", "model", "계산 모델"},
    {"origin_of_model", "model {name}", "모델 {name}"},
    {"flip_up", "{value} or more", "{value} 이상"},
    {"flip_down", "{value} or less", "{value} 이하"},
    {"then_pays", "{a} pays", "{a} 쪽 이득"},
    {"then_pays_not", "{a} does not pay", "{a} 쪽 이득 없음"},
    {"flips_rest", "At {nodes} nodes no value within these ranges changes it: {searched}.",
     "노드 {nodes}대에서는 다음 범위의 어떤 값도 결론을 바꾸지 않습니다: {searched}."},
    {"flip_range", "{what} {from} to {to}", "{what} {from}~{to}"},
    {"flips_cut",
     "Searched no further, because beyond that messages have sizes that were not measured or the "
     "slowest link has too few samples: {searched}.",
     "다음 범위 밖은 측정하지 않은 메시지 크기가 필요하거나 가장 느린 링크를 추정할 표본이 모자라 검토하지 못했습니다: "
     "{searched}."},
    {"flips_default", "Decided by defaults and not by your values: {names}.",
     "결론을 좌우하지만 기본값을 그대로 쓴 가정: {names}."},
    {"flips_no_network", "A single node uses no network: no assumption changes that.",
     "노드가 한 대이면 네트워크를 쓰지 않으므로 결론을 바꿀 가정이 없습니다."},

    {"title_next", "What to do next", "다음에 할 일"},
    {"next_doctor", "On both nodes, see what disturbs the runs:",
     "두 노드에서 측정을 방해하는 것이 무엇인지 확인합니다."},
    {"next_plan", "Write the script that measures both networks in turn, often enough:",
     "두 네트워크를 번갈아 충분히 측정하는 스크립트를 만듭니다."},
    {"next_run",
     "Run it; HOST is each network's server. It keeps what is measured already, and decides again:",
     "실행합니다. HOST에는 각 네트워크의 서버 주소를 넣습니다. 이미 측정한 결과는 그대로 두고 다시 "
     "판정합니다."},
    {"next_anew", "When the noise is gone, write the script that measures both networks in turn:",
     "잡음을 없앤 뒤, 두 네트워크를 번갈아 측정하는 스크립트를 만듭니다."},
    {"next_run_anew",
     "Run it; HOST is each network's server. The results go to new folders, and it decides again:",
     "실행합니다. HOST에는 각 네트워크의 서버 주소를 넣습니다. 결과는 새 폴더에 저장되며 다시 "
     "판정합니다."},
    {"next_own", "Decide with your own values in place of the defaults:",
     "기본값 대신 실제 값을 넣어 다시 판정합니다."},
    {"next_check", "Check the projection against a real collective on each network:",
     "네트워크마다 실제 집합 통신으로 계산 결과를 확인합니다."},

    {"title_basis", "What it rests on", "계산의 전제"},
    {"basis_model",
     "A projection is arithmetic over measured values and these assumptions, not a measurement of "
     "the job.",
     "이 결과는 측정값과 아래 가정으로 계산한 것이며, 작업 자체를 측정한 것이 아닙니다."},
    {"assumed_parameters", "parameters: {value} ({origin})", "매개변수 {value}개({origin})"},
    {"assumed_nodes", "nodes: {value} ({origin})", "노드 {value}대({origin})"},
    {"assumed_tokens_per_gpu", "tokens per GPU and step: {value} ({origin})",
     "스텝마다 GPU당 토큰 {value}개({origin})"},
    {"assumed_bytes_per_element", "bytes per element on the wire: {value} ({origin})",
     "전송하는 원소의 크기 {value}바이트({origin})"},
    {"assumed_flops_per_gpu", "peak of one GPU: {value} FLOP/s ({origin})",
     "GPU 하나의 최대 성능 {value} FLOP/s({origin})"},
    {"assumed_mfu", "share of that peak in use: {value} ({origin})",
     "최대 성능 대비 활용률 {value}({origin})"},
    {"assumed_flops_per_token", "FLOP per token and parameter: {value} ({origin})",
     "토큰과 매개변수마다 {value} FLOP({origin})"},
    {"assumed_gpus_per_node", "GPUs per node: {value} ({origin})",
     "노드당 GPU {value}개({origin})"},
    {"assumed_rails", "links per node, each as measured: {value} ({origin})",
     "노드당 링크 {value}개, 각각 측정한 속도({origin})"},
    {"assumed_parallel", "parallelism: {value} ({origin})", "병렬 방식 {value}, {origin}"},
    {"assumed_algorithm", "algorithm: {value} ({origin})", "알고리즘 {value}({origin})"},
    {"algorithm_ring", "ring", "링"},
    {"algorithm_tree", "tree", "트리"},
    {"assumed_bucket_bytes", "bytes of one all-reduce: {value} ({origin})",
     "all-reduce 한 번의 크기 {value}바이트({origin})"},
    {"assumed_layers", "layers: {value} ({origin})", "레이어 {value}개({origin})"},
    {"assumed_overlap", "share of communication beside computing: {value} ({origin})",
     "계산과 겹치는 통신의 비율 {value}({origin})"},
    {"assumed_bytes_per_s_in_node", "transfers in a node: {value} bytes/s ({origin})",
     "노드 안의 전송은 초당 {value}바이트({origin})"},
    {"assumed_bytes_per_s_in_node_none", "transfers in a node take no time ({origin})",
     "노드 안의 전송에는 시간이 걸리지 않음({origin})"},
    {"assumed_stragglers", "waiting for the slowest link: {value} ({origin})",
     "가장 느린 링크를 기다림: {value}({origin})"},
    {"stragglers_none", "never", "없음"},
    {"stragglers_collective", "once in a collective", "집합 통신마다 한 번"},
    {"stragglers_step", "in every step of a collective", "집합 통신의 단계마다"},
    {"assumed_curve", "time of a message: {value} ({origin})", "메시지 시간: {value}({origin})"},
    {"curve_latency", "latency", "지연 시간"},
    {"curve_bandwidth", "size / bandwidth", "크기 / 대역폭"},
    {"curve_both", "latency of the smallest size + size / bandwidth",
     "가장 작은 크기의 지연 시간 + 크기 / 대역폭"},
    {"assumed_operation", "operation: {value} ({origin})", "연산 {value}({origin})"},
    {"assumed_congestion", "links do not disturb one another ({origin})",
     "링크끼리 서로 방해하지 않음({origin})"},
    {"assumed_computation of a reduction", "computing of a reduction takes no time ({origin})",
     "리덕션 계산에는 시간이 걸리지 않음({origin})"},
    {"assumed_optimizer, input, checkpoints",
     "optimizer, input and checkpoints take no time ({origin})",
     "옵티마이저, 입력, 체크포인트에는 시간이 걸리지 않음({origin})"},
    {"basis_left_out_latency",
     "{name}: sizes that not every latency launch has are left out: {sizes}",
     "{name}: 지연 시간 측정마다 있지는 않은 크기는 제외함: {sizes}"},
    {"basis_left_out_bandwidth",
     "{name}: sizes that not every bandwidth launch has are left out: {sizes}",
     "{name}: 대역폭 측정마다 있지는 않은 크기는 제외함: {sizes}"},
    {"basis_tail",
     "{name}: of some messages' size no latency was measured, so their stragglers are those of the "
     "nearest of {from} to {to} bytes",
     "{name}: 일부 메시지 크기는 지연 시간을 측정하지 않아, 측정한 {from}~{to}바이트 가운데 가장 "
     "가까운 크기의 값을 썼음"},
    {"basis_extrapolated",
     "messages beyond the measured sizes have the bandwidth of the largest one and the time of the "
     "smallest",
     "측정 범위를 벗어난 메시지에는 가장 큰 크기의 대역폭과 가장 작은 크기의 시간을 썼음"},

    {"unit_ms", "{value} ms", "{value}밀리초"},
    {"unit_s", "{value} s", "{value}초"},
    {"unit_min", "{value} min", "{value}분"},
    {"unit_h", "{value} h", "{value}시간"},
    {"unit_days", "{value} days", "{value}일"},
    {"word_ms", "ms", "밀리초"},
    {"word_s", "s", "초"},
};

}  // namespace

std::span<const TextRow> decision_texts() noexcept {
  return kTexts;
}

Phrase phrase(std::string_view key, Language language, std::vector<Value> values) {
  const auto* const row = std::find_if(std::begin(kTexts), std::end(kTexts),
                                       [key](const TextRow& one) { return one.key == key; });
  if (row == std::end(kTexts)) {
    throw std::logic_error(fmt::format("no text '{}'", key));
  }
  fmt::dynamic_format_arg_store<fmt::format_context> arguments;
  for (const Value& value : values) {
    arguments.push_back(fmt::arg(value.name.c_str(), value.shown));
  }
  const std::string_view text = language == Language::korean ? row->korean : row->english;
  return {std::string(key), fmt::vformat(text, arguments), std::move(values)};
}

}  // namespace rdmabench::analysis
