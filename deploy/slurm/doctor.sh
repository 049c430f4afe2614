#!/bin/sh
# Drains this node when `rdmabench doctor` finds a fault, with the fault as the reason. For slurm.conf:
#   HealthCheckProgram=/etc/slurm/doctor.sh      HealthCheckInterval=300      HealthCheckNodeState=ANY,CYCLE
#   Prolog=/etc/slurm/doctor.sh                  and Epilog likewise: before and after each job
# RDMABENCH_DOCTOR has options of doctor, such as "--profile /etc/rdmabench/site.json". Slurm starts these programs
# with no environment of their own: set it here, and SLURM_CONF too where slurm.conf is not in its usual place.
set -u
PATH=${PATH:-/usr/bin:/bin:/usr/sbin:/sbin}
# shellcheck disable=SC2086  # several words
fault=$("${RDMABENCH:-rdmabench}" doctor --format line ${RDMABENCH_DOCTOR:-})
# 1 is a fault of the node; 2 and 3, a wrong option or no such file, are no reason to drain it.
[ $? -eq 1 ] || exit 0
node=${SLURMD_NODENAME:-$(hostname -s)}
case $(scontrol --oneliner show node "$node") in
*' Reason=rdmabench: '*) ;;
*' State='*+DRAIN*' Reason='*) exit 1 ;;  # drained for a reason of another's, which stays
esac
scontrol update nodename="$node" state=drain reason="rdmabench: $fault"
# As Prolog this keeps the job from the node: it is queued again, and held unless SchedulerParameters has
# nohold_on_prolog_fail. As HealthCheckProgram it means nothing.
exit 1
