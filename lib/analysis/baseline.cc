#include "analysis/baseline.h"

#include "base/refuse.h"
#include "rdmabench/base/error.h"
#include "rdmabench/features.h"

#if RDMABENCH_HAVE_SQLITE

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sqlite3.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <string_view>

#include "rdmabench/base/handle.h"

namespace rdmabench::inline v1::analysis {
namespace {

constexpr int kVersion = 1;
constexpr int kApplication = 0x72646d61;  // "rdma": identifies the file, also to file(1)
constexpr int kBusyMs = 5000;

// Documents are compared byte by byte, not by a hash: any difference makes two launches.
constexpr const char* kTables =
    "CREATE TABLE baseline (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE,"
    "  created_utc TEXT NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%SZ', 'now')));"
    "CREATE TABLE launch (id INTEGER PRIMARY KEY,"
    "  baseline_id INTEGER NOT NULL REFERENCES baseline (id) ON DELETE CASCADE,"
    "  stored_utc TEXT NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%SZ', 'now')),"
    "  source TEXT NOT NULL, document TEXT NOT NULL, UNIQUE (baseline_id, document));";

/// sqlite3_close() fails while statements exist; they are always destroyed first.
using Connection = Handle<sqlite3, sqlite3_close_v2>;

[[noreturn]] void fail(sqlite3* connection, std::string_view what) {
  throw Error(Fault::failed, fmt::format("{}: {}", what, sqlite3_errmsg(connection)),
              "Look at the file's rights, the space left and who else uses it.");
}

/// One prepared statement. Values are bound as parameters, never put into the text.
class Statement {
 public:
  Statement(sqlite3* connection, const char* text) : connection_(connection) {
    sqlite3_stmt* statement = nullptr;
    if (sqlite3_prepare_v2(connection, text, -1, &statement, nullptr) != SQLITE_OK) {
      fail(connection, "SQLite does not take a statement");
    }
    statement_.reset(statement);
  }
  Statement& bind(int index, const std::string& text) {
    if (sqlite3_bind_text64(statement_.get(), index, text.data(), text.size(), SQLITE_TRANSIENT,
                            SQLITE_UTF8) != SQLITE_OK) {
      fail(connection_, "SQLite does not take a value");
    }
    return *this;
  }
  Statement& bind(int index, std::int64_t value) {
    if (sqlite3_bind_int64(statement_.get(), index, value) != SQLITE_OK) {
      fail(connection_, "SQLite does not take a value");
    }
    return *this;
  }
  /// Advances; false after the last row.
  bool step() {
    const int code = sqlite3_step(statement_.get());
    if (code != SQLITE_ROW && code != SQLITE_DONE) fail(connection_, "the database of baselines");
    return code == SQLITE_ROW;
  }
  void reset() { sqlite3_reset(statement_.get()); }
  std::int64_t number(int column) { return sqlite3_column_int64(statement_.get(), column); }
  std::string text(int column) {
    const unsigned char* const bytes = sqlite3_column_text(statement_.get(), column);
    const int size = sqlite3_column_bytes(statement_.get(), column);
    if (bytes == nullptr) return {};
    return {reinterpret_cast<const char*>(bytes), static_cast<std::size_t>(size)};
  }

 private:
  sqlite3* connection_;
  Handle<sqlite3_stmt, sqlite3_finalize> statement_;
};

/// Rolled back unless it was committed.
class Transaction {
 public:
  explicit Transaction(sqlite3* connection) : connection_(connection) {
    Statement(connection, "BEGIN IMMEDIATE").step();
  }
  ~Transaction() {
    if (open_) sqlite3_exec(connection_, "ROLLBACK", nullptr, nullptr, nullptr);
  }
  Transaction& operator=(Transaction&&) = delete;
  void commit() {
    Statement(connection_, "COMMIT").step();
    open_ = false;
  }

 private:
  sqlite3* connection_;
  bool open_ = true;
};

bool is_of_kind(const Launch& one, const Launch& other) {
  return one.test == other.test &&
         std::any_of(one.rows.begin(), one.rows.end(), [&](const Row& row) {
           return std::any_of(other.rows.begin(), other.rows.end(), [&](const Row& of_other) {
             return row.operation == of_other.operation;
           });
         });
}

/// A launch must be like one of those of its test and operation, or like any where there are none:
/// like one and not like all, because a baseline of an older release may hold several
/// configurations.
void refuse_other_configuration(const std::vector<Launch>& known, const Launch& launch,
                                const Factors& allowed) {
  std::optional<std::vector<Confound>> closest;
  const Launch* other = nullptr;
  const bool has_kind = std::any_of(known.begin(), known.end(),
                                    [&](const Launch& one) { return is_of_kind(one, launch); });
  for (const Launch& one : known) {
    if (has_kind && !is_of_kind(one, launch)) continue;
    std::vector<Confound> found = find_other_configuration(one, launch, allowed);
    if (found.empty()) return;
    if (closest && closest->size() <= found.size()) continue;
    closest = std::move(found);
    other = &one;
  }
  if (!closest) return;
  std::string what;
  for (const Confound& one : *closest) {
    what += fmt::format("{}{} {} instead of {}", what.empty() ? "" : "; ", one.name,
                        fmt::join(one.b, ", "), fmt::join(one.a, ", "));
  }
  throw Error(
      Fault::usage,
      fmt::format("{} has another configuration than {}: {}", launch.source, other->source, what),
      "Store it under a name of its own, or declare with `factor` what may differ.");
}

}  // namespace

class BaselineStore::Database {
 public:
  Database(const std::string& path, Open open) : path_(path) {
    refuse_if(
        open == Open::existing && !std::filesystem::exists(path),
        fmt::format("no database of baselines '{}'", path),
        "Store a baseline first: 'rdmabench compare --baseline DB --name NAME --store FILES'.");
    const int flags =
        open == Open::create ? SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE : SQLITE_OPEN_READWRITE;
    sqlite3* connection = nullptr;
    const int code = sqlite3_open_v2(path.c_str(), &connection, flags, nullptr);
    connection_.reset(connection);
    if (code != SQLITE_OK) fail(connection, fmt::format("cannot open '{}'", path));
    sqlite3_busy_timeout(connection, kBusyMs);
    prepare();
  }

  sqlite3* connection() { return connection_.get(); }

  std::int64_t find(const std::string& baseline) {
    Statement query(connection(), "SELECT id FROM baseline WHERE name = ?1");
    return query.bind(1, baseline).step() ? query.number(0) : -1;
  }

 private:
  std::int64_t pragma(const char* text) {
    Statement statement(connection(), text);
    return statement.step() ? statement.number(0) : 0;
  }

  void execute(const std::string& text) {
    if (sqlite3_exec(connection(), text.c_str(), nullptr, nullptr, nullptr) != SQLITE_OK) {
      fail(connection(), fmt::format("'{}'", path_));
    }
  }

  /// Creates the tables of a new file, and refuses files of other programs.
  void prepare() {
    const auto refuse = [this](const std::string& what) {
      throw Error(Fault::usage, fmt::format("'{}' {}", path_, what),
                  "Name another file, or use the release that wrote it.");
    };
    execute("PRAGMA foreign_keys = ON");
    std::int64_t application = 0;
    try {
      application = pragma("PRAGMA application_id");
    } catch (const Error&) {
      if (sqlite3_errcode(connection()) == SQLITE_NOTADB) refuse("is not a SQLite database");
      throw;
    }
    if (application == 0) {
      Transaction transaction(connection());
      application = pragma("PRAGMA application_id");  // another process may have created them
      if (application == 0) {
        if (pragma("SELECT count(*) FROM sqlite_master") > 0) {
          refuse("is a database of another program");
        }
        execute(kTables);
        // Pragmas take no parameters; these are our own constants.
        execute(fmt::format("PRAGMA application_id = {}", kApplication));
        execute(fmt::format("PRAGMA user_version = {}", kVersion));
      }
      transaction.commit();
    }
    if (application != 0 && application != kApplication) {
      refuse("is a database of another program");
    }
    if (const std::int64_t version = pragma("PRAGMA user_version"); version != kVersion) {
      refuse(fmt::format("has version {} of the tables, and this release knows {}", version,
                         kVersion));
    }
  }

  std::string path_;
  Connection connection_;
};

BaselineStore::BaselineStore(const std::string& path, Open open)
    : database_(std::make_unique<Database>(path, open)) {}

BaselineStore::~BaselineStore() = default;

std::size_t BaselineStore::add(const std::string& baseline, const std::vector<Launch>& launches,
                               const Factors& allowed) {
  sqlite3* const connection = database_->connection();
  Transaction transaction(connection);
  std::vector<Launch> known;
  if (database_->find(baseline) >= 0) known = load(baseline);
  for (const Launch& launch : launches) {
    refuse_other_configuration(known, launch, allowed);
    known.push_back(launch);
  }
  Statement(connection, "INSERT OR IGNORE INTO baseline (name) VALUES (?1)")
      .bind(1, baseline)
      .step();
  const std::int64_t id = database_->find(baseline);
  std::size_t added = 0;
  Statement insert(connection,
                   "INSERT OR IGNORE INTO launch (baseline_id, source, document)"
                   " VALUES (?1, ?2, ?3)");
  for (const Launch& launch : launches) {
    insert.bind(1, id).bind(2, launch.source).bind(3, launch.document).step();
    added += static_cast<std::size_t>(sqlite3_changes(connection));
    insert.reset();
  }
  transaction.commit();
  return added;
}

std::vector<Launch> BaselineStore::load(const std::string& baseline) {
  const std::int64_t id = database_->find(baseline);
  if (id < 0) {
    std::string names;
    for (const Entry& entry : list()) names += (names.empty() ? "" : ", ") + entry.name;
    throw Error(
        Fault::usage, fmt::format("no baseline '{}'", baseline),
        names.empty() ? "The database holds none: `store` one first." : "There are: " + names);
  }
  Statement query(database_->connection(),
                  "SELECT source, document FROM launch WHERE baseline_id = ?1 ORDER BY id");
  query.bind(1, id);
  std::vector<Launch> launches;
  while (query.step()) {
    const std::string source = fmt::format("{} of '{}'", query.text(0), baseline);
    for (Launch& launch : read_launches(query.text(1), source)) {
      launches.push_back(std::move(launch));
    }
  }
  return launches;
}

std::vector<BaselineStore::Entry> BaselineStore::list() {
  Statement query(database_->connection(),
                  "SELECT name, count(launch.id), min(stored_utc), max(stored_utc)"
                  " FROM baseline LEFT JOIN launch ON baseline_id = baseline.id"
                  " GROUP BY baseline.id ORDER BY name");
  std::vector<Entry> entries;
  while (query.step()) {
    entries.push_back(
        {query.text(0), static_cast<std::uint64_t>(query.number(1)), query.text(2), query.text(3)});
  }
  return entries;
}

std::size_t BaselineStore::remove(const std::string& baseline) {
  Transaction transaction(database_->connection());
  const std::size_t launches = load(baseline).size();
  Statement(database_->connection(), "DELETE FROM baseline WHERE name = ?1")
      .bind(1, baseline)
      .step();
  transaction.commit();
  return launches;
}

}  // namespace rdmabench::inline v1::analysis

#else

namespace rdmabench::inline v1::analysis {

class BaselineStore::Database {};

BaselineStore::BaselineStore(const std::string&, Open) {
  throw Error(Fault::unavailable, "this build keeps no baselines",
              "Build it with libsqlite3-dev and -DRDMABENCH_SQLITE=ON.");
}
BaselineStore::~BaselineStore() = default;
std::size_t BaselineStore::add(const std::string&, const std::vector<Launch>&, const Factors&) {
  return 0;
}
std::size_t BaselineStore::remove(const std::string&) {
  return 0;
}
std::vector<Launch> BaselineStore::load(const std::string&) {
  return {};
}
std::vector<BaselineStore::Entry> BaselineStore::list() {
  return {};
}

}  // namespace rdmabench::inline v1::analysis

#endif
