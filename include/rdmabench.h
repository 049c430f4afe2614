/* The C interface of rdmabench: runs measurements, serves them, examines a node, compares results.
 *
 * It is the stable binary interface: what librdmabench-c.so.0 exports keeps its meaning as long as
 * the number is 0. Configurations and results are JSON texts in UTF-8, so that a new option or a
 * new figure changes no function. docs/c.md lists the keys; docs/schema has the documents.
 *
 * Return value: see enum rdmabench_code. It is never a C++ exception, and the
 * library never prints, ends the process or changes signals.
 *
 * Result: a function with a parameter `result` stores there a text, which the caller gives back by
 * rdmabench_free(); null where there is no memory for it. `result` itself may be null. Where the
 * function failed, the text is an object with these members:
 *
 *   {"error": "what failed and what to do",
 *    "failure": {"fault": "failed" | "usage" | "unavailable" | "cancelled", "code": an errno or 0,
 *                "library", "call", "status", "peer", "remedy", and of an epoch "outcome" and
 *                "operation": texts, or null where there is none}}
 *
 * The returned code says the same as "fault", but for rdmabench_judge(), where it is the verdict,
 * also over a document that has a "failure" of its own. Any other document has no "error", or null
 * there. A run that failed after it had begun to measure gives its whole document, with what was
 * finished: docs/api.md says when. Of rdmabench_doctor() and rdmabench_compare() RDMABENCH_FAILED
 * without an "error" is the verdict, too.
 *
 * Threads: every function may be called from any thread, and several at once, unless it says
 * otherwise. A text that is passed in is the caller's and is not kept. */
#ifndef RDMABENCH_H
#define RDMABENCH_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define RDMABENCH_API __attribute__((visibility("default")))
#else
#define RDMABENCH_API
#endif

enum rdmabench_code {
  RDMABENCH_OK = 0,
  RDMABENCH_FAILED = 1,      /**< the measurement or a check failed, or two sides differ */
  RDMABENCH_USAGE = 2,       /**< wrong use; the text names the right one */
  RDMABENCH_UNAVAILABLE = 3, /**< not available on this machine or in this build */
  RDMABENCH_CANCELLED = 4    /**< a rdmabench_cancel_request(), or what a callback returned */
};

/** "0.3.0". Lives as long as the program. */
RDMABENCH_API const char* rdmabench_version(void);

/** Gives back a text that a function of this header stored in `result`. Null is permitted. */
RDMABENCH_API void rdmabench_free(char* text);

/** Ends runs early. One object may serve several runs, at once or in turn; a request stays. */
typedef struct rdmabench_cancel rdmabench_cancel;

/** A new object, without a request; null where there is no memory for it. */
RDMABENCH_API rdmabench_cancel* rdmabench_cancel_new(void);

/** Ends the runs that have `cancel`, within some 100 ms and one message; the look-up of a host's
 * name, and opening and connecting endpoints, end first. It only sets an atomic flag: it may be
 * called from any thread and from a signal handler. */
RDMABENCH_API void rdmabench_cancel_request(rdmabench_cancel* cancel);

/** After the runs that have it have returned, and no sooner. Null is permitted. */
RDMABENCH_API void rdmabench_cancel_free(rdmabench_cancel* cancel);

/** Called with `user` and a text that lives until it returns. A value other than 0 ends the run as
 * rdmabench_cancel_request() does; where the hooks have a `cancel`, the request is made on it. */
typedef int (*rdmabench_callback)(void* user, const char* json);

/** What rdmabench_run() tells meanwhile. Every member may be 0. All calls are made by the thread of
 * rdmabench_run(), which meanwhile posts no message of a stream: return soon. */
typedef struct rdmabench_hooks {
  size_t size; /**< sizeof(rdmabench_hooks): a later version may add members */
  void* user;
  /** Between epochs, and about four times a second of a stream without a number of iterations:
   * {"size_index", "sizes", "size_bytes", "iterations", "target_iterations", "elapsed_s",
   * "target_time_s", "messages_per_s"}. */
  rdmabench_callback on_progress;
  /** After each row: the document so far, whose last result is the new one. */
  rdmabench_callback on_row;
  /** Once, with the finished document, before the connection is closed: closing may take long where
   * a device's driver waits, so keep here what must not be lost. Its return value means nothing. */
  rdmabench_callback on_report;
  rdmabench_cancel* cancel;
} rdmabench_hooks;

/** Measures. `config` is a JSON object: {"host": "node1", "shape": "bandwidth", "sizes": [65536],
 * "stop": {"duration_s": 1}}. Without a "host", or with null there, against a server in a thread of
 * this process, as {"backend": "loop"} needs it. `hooks` may be null. Blocks; binds its thread to
 * "cpus" meanwhile. No single wait is longer than "timeout_s".
 *
 * Result: a document rdmabench/1. Another code than RDMABENCH_OK where the run ended early, and the
 * document has what was finished. */
RDMABENCH_API int rdmabench_run(const char* config, const rdmabench_hooks* hooks, char** result);

/** Examines this node, or a saved one. `options`: {"root": "/", "only": ["port"], "expect":
 * ["devices=8"]}; null is {}. Needs no privilege.
 *
 * Result: a document rdmabench-doctor/1. RDMABENCH_FAILED where a check failed, or could not be
 * made because of an error. */
RDMABENCH_API int rdmabench_doctor(const char* options, char** result);

/* Where a request has lists of documents, each item is a document as an object, its text, or the
 * path of a file or folder of such ("-" is not standard input). Of a folder rdmabench_compare()
 * takes the *.json, rdmabench_judge() and rdmabench_report() the *.jsonl, too. One of them that
 * cannot be read refuses the whole request, and the text names it: the commands `compare` and
 * `report` leave it out, say so and go on. */

/** Decides whether two sides of results differ by more than a margin. `request`: {"a": [...], "b":
 * [...], "a_name": "A", "b_name": "B", "margin": 0.05, "alpha": 0.05, "factors": ["device"],
 * "metrics": ["p50"], "skip_failed": false}. The sides are documents rdmabench/1 or
 * rdmabench-coll/1.
 *
 * Result: a document rdmabench-compare/1. RDMABENCH_FAILED where some quantity of b is worse
 * than a's by more than the margin. */
RDMABENCH_API int rdmabench_compare(const char* request, char** result);

/** Holds one run against limits, as --expect does (docs/expect.md). `request`: {"documents": [...],
 * "limits": ["p99<=5us", "bw>=90%line"], "profile": "connectx-7.json"}, of which one of the last
 * two may be left out. Several documents are launches of the same run.
 *
 * Result: the document, of several launches one over them, with the judgements as "expectations",
 * whose "status" is PASS, FAIL or OPEN; of a fabric it is JSON Lines. RDMABENCH_FAILED where one is
 * FAIL or a run ended early. */
RDMABENCH_API int rdmabench_judge(const char* request, char** result);

/** Writes documents of any kind in another format. `request`: {"documents": [...], "format": "html"
 * | "junit" | "prometheus" | "csv" | "markdown"}, without a format html.
 *
 * Result: that text, which is no JSON. RDMABENCH_OK whatever the documents say. */
RDMABENCH_API int rdmabench_report(const char* request, char** result);

/** A server in threads of its own. */
typedef struct rdmabench_server rdmabench_server;

/** Starts a server, which answers clients until it is stopped. `config`: {"address": "", "port": 0,
 * "max_clients": 256, "max_address_clients": 64, "backend": "auto", "sessions": 0, "device": "",
 * "gid_index": -1, "max_memory": bytes, "max_address_memory": bytes, "max_threads": 1024,
 * "max_address_threads": 256, "timeout_s": 10, "max_timeout_s": 60, "max_idle_s": 120,
 * "max_session_s": 86400, "cpus": [], "allow": [], "allow_providers": [], "token_file": "",
 * "auth": "token", "insecure": false}; null is {}, and then the port is 18515. docs/limits.md tells
 * what each limits; "backend" is the only one that it serves. Clients have to have the same token,
 * which is by default this user's own file, or be the same user by "auth": "munge". With
 * "insecure", on both sides, who can connect is served.
 *
 * `on_event` may be null. It is called with `user` and a line about each client, by threads of the
 * server, one at a time, at the latest while rdmabench_server_stop() runs. What it returns means
 * nothing. `server` gets the server, or null where the function failed; `result` a text only
 * then. */
RDMABENCH_API int rdmabench_server_start(const char* config, rdmabench_callback on_event,
                                         void* user, rdmabench_server** server, char** result);

/** The TCP port that it listens on. */
RDMABENCH_API uint16_t rdmabench_server_port(const rdmabench_server* server);

/** Ends the sessions, then the server, and frees it: within a second, unless a call of a driver
 * does not return. Null is permitted. Not from `on_event`. */
RDMABENCH_API void rdmabench_server_stop(rdmabench_server* server);

#ifdef __cplusplus
}
#endif

#endif
