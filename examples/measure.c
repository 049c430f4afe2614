/* The C interface: a run whose rows are told, limits, a comparison, a page, and a run that a
 * callback ends.
 *
 *   measure [PAGE.html] */
#include <rdmabench.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char kRun[] =
    "{\"backend\": \"loop\", \"sizes\": [8, 64], \"stop\": {\"iterations\": 1000}, \"watch\": false}";
static const char kLongRun[] = "{\"backend\": \"loop\", \"stop\": {\"duration_s\": 3600}}";

static int on_row(void* user, const char* document) {
  ++*(int*)user;
  return strstr(document, "\"results\"") == NULL; /* another value than 0 ends the run */
}

static int on_progress(void* user, const char* progress) {
  (void)user;
  return strstr(progress, "\"elapsed_s\"") != NULL;
}

/* BEFORE + TEXT + AFTER; the caller frees it. */
static char* joined(const char* before, const char* text, const char* after) {
  const size_t size = strlen(before) + strlen(text) + strlen(after) + 1;
  char* all = malloc(size);
  if (all == NULL) exit(1);
  snprintf(all, size, "%s%s%s", before, text, after);
  return all;
}

static int has(const char* text, const char* word) {
  if (text != NULL && strstr(text, word) != NULL) return 1;
  fprintf(stderr, "no %s in %.400s\n", word, text != NULL ? text : "nothing");
  return 0;
}

/* Whether `limits` give that code and that status. */
static int judges(const char* document, const char* limits, int code, const char* status) {
  char* const end = joined("], \"limits\": [\"", limits, "\"]}");
  char* const request = joined("{\"documents\": [", document, end);
  char* judged = NULL;
  const int good = rdmabench_judge(request, &judged) == code && has(judged, status);
  rdmabench_free(judged);
  free(request);
  free(end);
  return good;
}

static int writes_page(const char* document, const char* path) {
  char* const request = joined("{\"documents\": [", document, "], \"format\": \"html\"}");
  char* page = NULL;
  const int good = rdmabench_report(request, &page) == RDMABENCH_OK && has(page, "<html");
  FILE* const file = path != NULL ? fopen(path, "w") : NULL;
  if (file != NULL) {
    fputs(page, file);
    fclose(file);
  }
  rdmabench_free(page);
  free(request);
  return good && (path == NULL || file != NULL);
}

static int is_cancelled(void) {
  rdmabench_hooks hooks = {sizeof hooks, NULL, NULL, NULL, NULL, NULL};
  char* document = NULL;
  int good;
  hooks.on_progress = on_progress;
  good = rdmabench_run(kLongRun, &hooks, &document) == RDMABENCH_CANCELLED &&
         has(document, "\"fault\": \"cancelled\"");
  rdmabench_free(document);
  return good;
}

static int is_refused(void) {
  char* text = NULL;
  const int good = rdmabench_run("{\"dept\": 8}", NULL, &text) == RDMABENCH_USAGE &&
                   has(text, "Did you mean `depth`?");
  rdmabench_free(text);
  return good;
}

int main(int argc, char** argv) {
  int rows = 0, good;
  char* document = NULL;
  rdmabench_hooks hooks = {sizeof hooks, NULL, NULL, NULL, NULL, NULL};
  hooks.user = &rows;
  hooks.on_row = on_row;
  good = rdmabench_run(kRun, &hooks, &document) == RDMABENCH_OK && rows == 2;
  good = good && judges(document, "p50<=1s", RDMABENCH_OK, "\"status\": \"PASS\"") &&
         judges(document, "p50<=1ns", RDMABENCH_FAILED, "\"status\": \"FAIL\"") &&
         writes_page(document, argc > 1 ? argv[1] : NULL) && is_cancelled() && is_refused();
  printf("rdmabench %s: %d rows, %s\n", rdmabench_version(), rows, good ? "good" : "wrong");
  rdmabench_free(document);
  return good ? 0 : 1;
}
