/* The C interface: measures in process, is cancelled, is told wrong things, judges.
 * Usage: c_api_program VERSION FOLDER_OF_A_SAVED_NODE SCRATCH_FOLDER */
#define _POSIX_C_SOURCE 200809L

#include <pthread.h>
#include <rdmabench.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int failures;

#define CHECK(holds)                                                      \
  do {                                                                    \
    if (!(holds)) {                                                       \
      fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #holds); \
      ++failures;                                                         \
    }                                                                     \
  } while (0)

static int has(const char* text, const char* part) {
  if (text != NULL && strstr(text, part) != NULL) return 1;
  fprintf(stderr, "no %s in: %.2000s\n", part, text == NULL ? "(null)" : text);
  return 0;
}

struct seen {
  int progress, rows, reports;
  int stop_at; /* the call of on_progress that ends the run; 0 = none */
  rdmabench_cancel* cancel;
  pthread_mutex_t mutex;
  pthread_cond_t measuring;
};

static int on_progress(void* user, const char* json) {
  struct seen* seen = user;
  CHECK(has(json, "\"messages_per_s\":"));
  pthread_mutex_lock(&seen->mutex);
  ++seen->progress;
  pthread_cond_signal(&seen->measuring);
  pthread_mutex_unlock(&seen->mutex);
  return seen->progress == seen->stop_at;
}

static int on_row(void* user, const char* json) {
  CHECK(has(json, "\"schema\": \"rdmabench/1\""));
  ++((struct seen*)user)->rows;
  return 0;
}

static int on_report(void* user, const char* json) {
  CHECK(has(json, "\"results\""));
  ++((struct seen*)user)->reports;
  return 1; /* too late to end anything */
}

static rdmabench_hooks hooks_of(struct seen* seen) {
  rdmabench_hooks hooks;
  memset(&hooks, 0, sizeof hooks);
  hooks.size = sizeof hooks;
  hooks.user = seen;
  hooks.on_progress = on_progress;
  hooks.on_row = on_row;
  hooks.on_report = on_report;
  hooks.cancel = seen->cancel;
  return hooks;
}

static struct seen nothing_seen(void) {
  struct seen seen;
  memset(&seen, 0, sizeof seen);
  pthread_mutex_init(&seen.mutex, NULL);
  pthread_cond_init(&seen.measuring, NULL);
  return seen;
}

static void test_run(void) {
  struct seen seen = nothing_seen();
  const rdmabench_hooks hooks = hooks_of(&seen);
  char* result = NULL;
  CHECK(rdmabench_run(
            "{\"backend\":\"loop\",\"sizes\":[8,64],\"stop\":{\"iterations\":1000},\"host\":null}",
            &hooks, &result) == RDMABENCH_OK);
  CHECK(has(result, "\"schema\": \"rdmabench/1\"") && has(result, "\"error\": null"));
  CHECK(seen.rows == 2 && seen.reports == 1 && seen.progress >= 2);
  rdmabench_free(result);
  CHECK(rdmabench_run("{\"backend\":\"loop\",\"stop\":{\"iterations\":10}}", NULL, NULL) ==
        RDMABENCH_OK);
}

static const char kEndless[] = "{\"backend\":\"loop\",\"stop\":{\"duration_s\":1000}}";

static void check_cancelled(int code, char* result) {
  CHECK(code == RDMABENCH_CANCELLED);
  CHECK(has(result, "\"fault\": \"cancelled\""));
  CHECK(has(result, "\"schema\": \"rdmabench/1\"")); /* it had begun to measure */
  rdmabench_free(result);
}

static void* request_while_it_measures(void* user) {
  struct seen* seen = user;
  pthread_mutex_lock(&seen->mutex);
  while (seen->progress == 0) pthread_cond_wait(&seen->measuring, &seen->mutex);
  pthread_mutex_unlock(&seen->mutex);
  rdmabench_cancel_request(seen->cancel);
  return NULL;
}

static void test_cancel_from_a_thread(void) {
  struct seen seen = nothing_seen();
  pthread_t thread;
  rdmabench_hooks hooks;
  char* result = NULL;
  int code;
  seen.cancel = rdmabench_cancel_new();
  hooks = hooks_of(&seen);
  pthread_create(&thread, NULL, request_while_it_measures, &seen);
  code = rdmabench_run(kEndless, &hooks, &result);
  pthread_join(thread, NULL);
  check_cancelled(code, result);
  code = rdmabench_run(kEndless, &hooks, &result); /* the request stays */
  CHECK(code == RDMABENCH_CANCELLED && has(result, "\"fault\": \"cancelled\""));
  rdmabench_free(result);
  rdmabench_cancel_free(seen.cancel);
}

static rdmabench_cancel* of_the_handler;

static void handle(int number) {
  (void)number;
  rdmabench_cancel_request(of_the_handler);
}

static int raise_signal(void* user, const char* json) {
  (void)user;
  (void)json;
  raise(SIGUSR1);
  return 0;
}

static void test_cancel_from_a_signal_handler(void) {
  rdmabench_hooks hooks;
  char* result = NULL;
  int code;
  memset(&hooks, 0, sizeof hooks);
  hooks.size = sizeof hooks;
  hooks.on_progress = raise_signal;
  hooks.cancel = of_the_handler = rdmabench_cancel_new();
  signal(SIGUSR1, handle);
  code = rdmabench_run(kEndless, &hooks, &result);
  check_cancelled(code, result);
  rdmabench_cancel_free(of_the_handler);
}

static void test_cancel_by_a_callback(void) {
  struct seen seen = nothing_seen();
  rdmabench_hooks hooks;
  char* result = NULL;
  int code;
  seen.stop_at = 2;
  hooks = hooks_of(&seen);
  code = rdmabench_run(kEndless, &hooks, &result);
  check_cancelled(code, result);
  CHECK(seen.progress == 2);
}

static void check_refused(int code, char* result, const char* text) {
  CHECK(code == RDMABENCH_USAGE);
  CHECK(has(result, text) && has(result, "\"fault\": \"usage\"") && has(result, "\"remedy\""));
  rdmabench_free(result);
}

static void test_wrong_use(void) {
  rdmabench_hooks hooks;
  rdmabench_server* server = (rdmabench_server*)&hooks;
  char* result = NULL;
  int code = rdmabench_run("{\"depth\":", NULL, &result);
  check_refused(code, result, "the configuration is not a JSON object");
  code = rdmabench_run("{\"dept\":8}", NULL, &result);
  check_refused(code, result, "Did you mean `depth`?");
  code = rdmabench_run("{\"depth\":0}", NULL, &result);
  check_refused(code, result, "invalid `depth` 0");
  code = rdmabench_run("{\"backend\":\"none\"}", NULL, &result);
  check_refused(code, result, "none");
  code = rdmabench_run(NULL, NULL, &result);
  check_refused(code, result, "is null");
  memset(&hooks, 0, sizeof hooks);
  code = rdmabench_run("{}", &hooks, &result);
  check_refused(code, result, "sizeof(rdmabench_hooks)");
  code = rdmabench_server_start("{\"prot\":0}", NULL, NULL, &server, &result);
  CHECK(server == NULL);
  check_refused(code, result, "Did you mean `port`?");
  code = rdmabench_compare("{\"a\":[],\"b\":[7]}", &result);
  check_refused(code, result, "`b[0]`");
  code = rdmabench_compare("{\"a\":[],\"b\":[],\"margin\":2}", &result);
  check_refused(code, result, "`margin`");
  code = rdmabench_doctor("{\"only\":[\"none\"]}", &result);
  check_refused(code, result, "none");
  CHECK(rdmabench_run("{}}", NULL, NULL) == RDMABENCH_USAGE);
}

static int count_line(void* user, const char* line) {
  CHECK(has(line, "loop"));
  ++*(int*)user;
  return 0;
}

static void test_server(void) {
  int lines = 0;
  char config[200];
  rdmabench_server* server = NULL;
  char* result = NULL;
  CHECK(rdmabench_server_start("{\"address\":\"127.0.0.1\",\"port\":0}", count_line, &lines,
                               &server, &result) == RDMABENCH_OK);
  CHECK(result == NULL && server != NULL);
  if (server == NULL) return;
  snprintf(config, sizeof config,
           "{\"backend\":\"loop\",\"host\":\"127.0.0.1\",\"port\":%d,\"shape\":\"bandwidth\","
           "\"stop\":{\"iterations\":200}}",
           rdmabench_server_port(server));
  CHECK(rdmabench_run(config, NULL, &result) == RDMABENCH_OK);
  CHECK(has(result, "\"test\": \"bandwidth\""));
  rdmabench_free(result);
  rdmabench_server_stop(server);
  CHECK(lines == 1);
  rdmabench_server_stop(NULL);
}

static void test_doctor(const char* root) {
  char options[4096];
  char* result = NULL;
  int code;
  snprintf(options, sizeof options, "{\"root\":\"%s\",\"only\":[\"port\"]}", root);
  CHECK(rdmabench_doctor(options, &result) == RDMABENCH_OK);
  CHECK(has(result, "\"schema\": \"rdmabench-doctor/1\"") && has(result, "port.state"));
  rdmabench_free(result);
  snprintf(options, sizeof options,
           "{\"root\":\"%s\",\"only\":[\"device\"],\"expect\":[\"devices=77\"]}", root);
  code = rdmabench_doctor(options, &result);
  CHECK(code == RDMABENCH_FAILED);
  CHECK(has(result, "77"));
  rdmabench_free(result);
}

/* A document is an object in the request, and no text in it. */
static void compare_objects(void) {
  char* run[2] = {NULL, NULL};
  char* request;
  char* result = NULL;
  size_t size = 100;
  int i;
  for (i = 0; i < 2; ++i) {
    rdmabench_run("{\"backend\":\"loop\",\"stop\":{\"iterations\":300}}", NULL, &run[i]);
    CHECK(run[i] != NULL);
    if (run[i] == NULL) return;
    size += strlen(run[i]);
  }
  request = malloc(size);
  snprintf(request, size, "{\"a\":[%s],\"b\":[%s]}", run[0], run[1]);
  CHECK(rdmabench_compare(request, &result) == RDMABENCH_OK);
  CHECK(has(result, "\"schema\": \"rdmabench-compare/1\""));
  rdmabench_free(result);
  free(request);
  for (i = 0; i < 2; ++i) rdmabench_free(run[i]);
}

static void test_compare(const char* scratch) {
  char request[8192];
  char path[2][4000];
  char* result = NULL;
  int code, i;
  for (i = 0; i < 2; ++i) {
    FILE* file;
    CHECK(rdmabench_run("{\"backend\":\"loop\",\"stop\":{\"iterations\":300}}", NULL, &result) ==
          RDMABENCH_OK);
    snprintf(path[i], sizeof path[i], "%.3900s/%d.json", scratch, i);
    file = fopen(path[i], "w");
    CHECK(file != NULL && result != NULL && fputs(result, file) >= 0 && fclose(file) == 0);
    rdmabench_free(result);
  }
  snprintf(request, sizeof request, "{\"a\":[\"%.4000s\"],\"b\":[\"%.4000s\"],\"margin\":0.1}",
           path[0], path[1]);
  CHECK(rdmabench_compare(request, &result) == RDMABENCH_OK); /* one launch proves nothing */
  CHECK(has(result, "\"schema\": \"rdmabench-compare/1\""));
  rdmabench_free(result);
  compare_objects();
  snprintf(request, sizeof request, "{\"a\":[\"%.4000s\"],\"b\":[\"%.4000s\"]}", path[0], path[0]);
  code = rdmabench_compare(request, &result);
  check_refused(code, result, "same launch");
}

/* Its bytes are few, and a gigabyte in memory. */
static void test_many_values(void) {
  const char begin[] = "{\"documents\":[{\"of\":[0";
  const size_t values = 8000001;
  char* request = malloc(sizeof begin + 2 * values + 10);
  char* result = NULL;
  char* to = request;
  size_t i;
  int code;
  if (request == NULL) return;
  memcpy(to, begin, sizeof begin - 1);
  to += sizeof begin - 1;
  for (i = 0; i < values; ++i) {
    *to++ = ',';
    *to++ = '0';
  }
  memcpy(to, "]}]}", 5);
  code = rdmabench_judge(request, &result);
  check_refused(code, result, "more than 8000000 values");
  free(request);
}

/* A bandwidth of one epoch, and so judged by its value. */
#define WRITE(bits)                                                                    \
  "{\"schema\":\"rdmabench/1\",\"test\":\"bandwidth\",\"error\":null,\"resolved\":{}," \
  "\"results\":[{\"operation\":\"write\",\"size_bytes\":65536,\"bits_per_s\":" #bits "}]}"
#define LIMIT "\"limits\":[\"bw>=360Gb/s\"]}"

static void check_judged(const char* request, int code, const char* status) {
  char* result = NULL;
  char report[16384];
  CHECK(rdmabench_judge(request, &result) == code);
  CHECK(has(result, status) && has(result, "\"expectation\": \"bw>=360Gb/s\""));
  if (result == NULL) return;
  snprintf(report, sizeof report, "{\"format\":\"junit\",\"documents\":[%.16000s]}", result);
  rdmabench_free(result);
  CHECK(rdmabench_report(report, &result) == RDMABENCH_OK);
  CHECK(has(result, "<testsuite") && has(result, "=360Gb/s"));
  CHECK((strstr(result, "<failure") != NULL) == (code == RDMABENCH_FAILED));
  rdmabench_free(result);
}

static void test_judge(const char* scratch) {
  char request[8192];
  char path[4000];
  char* result = NULL;
  FILE* file;
  int code;
  check_judged("{\"documents\":[" WRITE(400e9) "]," LIMIT, RDMABENCH_OK, "\"status\": \"PASS\"");
  check_judged("{\"documents\":[" WRITE(300e9) "]," LIMIT, RDMABENCH_FAILED,
               "\"status\": \"FAIL\"");
  check_judged("{\"documents\":[" WRITE(365e9) "]," LIMIT, RDMABENCH_OK, "\"status\": \"OPEN\"");
  check_judged("{\"documents\":[" WRITE(365e9) "," WRITE(366e9) "," WRITE(367e9) "," WRITE(
                   368e9) "," WRITE(369e9) "]," LIMIT,
               RDMABENCH_OK, "over 5 launches");
  snprintf(path, sizeof path, "%.3900s/profile.json", scratch);
  file = fopen(path, "w");
  CHECK(file != NULL && fputs("{\"expect\":[\"bw>=360Gb/s\",\"p99<=5us\"]}", file) >= 0 &&
        fclose(file) == 0);
  snprintf(request, sizeof request, "{\"documents\":[" WRITE(400e9) "],\"profile\":\"%.4000s\"}",
           path);
  CHECK(rdmabench_judge(request, &result) == RDMABENCH_OK); /* it has no p99, which is OPEN */
  CHECK(has(result, "\"expectation\": \"p99<=5us\""));
  rdmabench_free(result);
  code = rdmabench_judge("{\"documents\":[" WRITE(1) "]}", &result);
  check_refused(code, result, "no limit");
  code = rdmabench_judge("{\"documents\":[]," LIMIT, &result);
  check_refused(code, result, "`documents` of the request has no document");
  code = rdmabench_judge("{\"documents\":[" WRITE(1) "],\"limits\":[\"bw>=fast\"]}", &result);
  check_refused(code, result, "invalid limit 'bw>=fast'");
  code = rdmabench_judge("{\"document\":[" WRITE(1) "]," LIMIT, &result);
  check_refused(code, result, "Did you mean `documents`?");
  code = rdmabench_judge("{\"documents\":[\"-\"]," LIMIT, &result);
  check_refused(code, result, "'-' is not a file");
  code = rdmabench_judge("{\"documents\":[" WRITE(1) "],\"limits\":[\"bw>=95%-\"]}", &result);
  check_refused(code, result, "'bw>=95%-'");
  code = rdmabench_judge("{\"documents\":[" WRITE(1) "," WRITE(1) "]," LIMIT, &result);
  check_refused(code, result, "document 1 and document 2 are the same launch");
  code = rdmabench_report("{\"documents\":[" WRITE(1) "],\"format\":\"pdf\"}", &result);
  check_refused(code, result, "markdown");
  CHECK(rdmabench_report("{\"documents\":[" WRITE(1) "]}", &result) == RDMABENCH_OK);
  CHECK(has(result, "<!DOCTYPE html>"));
  rdmabench_free(result);
}

int main(int count, char** words) {
  if (count != 4) return 2;
  CHECK(strcmp(rdmabench_version(), words[1]) == 0);
  test_run();
  test_cancel_from_a_thread();
  test_cancel_from_a_signal_handler();
  test_cancel_by_a_callback();
  test_wrong_use();
  test_server();
  test_doctor(words[2]);
  test_compare(words[3]);
  test_judge(words[3]);
  test_many_values();
  rdmabench_free(NULL);
  rdmabench_cancel_free(NULL);
  return failures != 0;
}
