// SPDX-License-Identifier: Apache-2.0

import Glibc
import Testing
import WatchdogLinux

/// The interpreter of the project's own environment, which has DuckDB.
private let interpreter: String =
    subjects.split(separator: "/").dropLast(3).reduce("") { "\($0)/\($1)" }
    + "/.build/venv/bin/python3"

private let hasDuckDB: Bool = {
    let program = access(interpreter, X_OK) == 0 ? try? Program([interpreter, "-c", "import duckdb"]) : nil
    let isThere = (try? program?.end().code) == 0
    if !isThere { print("skipped: \(interpreter) has no module duckdb (scripts/setup installs it)") }
    return isThere
}()

private let hasPostgreSQL: Bool = {
    let isThere = isInstalled("postgres") && isInstalled("initdb") && isInstalled("psql") && isInstalled("runuser")
    if !isThere || !isRoot { print("skipped: SQL examples need root, postgres, initdb, psql and runuser") }
    return isThere && isRoot
}()

extension EndToEnd {
    /// The examples in docs/organizer.md, applied to a small fleet.
    @Suite("SQL examples")
    struct OrganizerSQLTests {
        /// The examples for a database: load first, then its queries in order.
        private static func examples(of database: String) throws -> [String] {
            let root = subjects.split(separator: "/").dropLast(3).reduce("") { "\($0)/\($1)" }
            let text = String(decoding: try #require(contents(of: "\(root)/docs/organizer.md")), as: UTF8.self)
            return text.split(separator: "```sql\n").dropFirst()
                .map { String($0.prefix(upTo: ($0.firstRange(of: "```")?.lowerBound) ?? $0.endIndex)) }
                .filter { $0.hasPrefix("-- \(database): ") }
        }

        /// Two versions a day apart: `old` in both, `new` in the later one only; a backslash and quotes in a cause.
        private static func lines() -> String {
            func line(_ number: Int, _ signature: String, _ version: String, _ time: String, _ cause: String) -> String
            {
                #"{"app":"editor","cause":"\#(cause)","event":"hang","host":"web","incident":"\#(number)","signature":"#
                    + #""\#(signature)","time":"2026-11-\#(time)","version":"\#(version)"}"# + "\n"
            }
            return line(1, "old", "1.0", "01T00:00:00.12Z", "spinning")
                + line(2, "old", "1.0", "05T00:00:00.12Z", "spinning")
                + line(3, "old", "1.1", "06T00:00:00.12Z", "spinning")
                + line(4, "new", "1.1", "06T01:00:00.12Z", #"in \"C:\\x\", y"#)
        }

        private static let answer = ["editor|1.0|2|0.5", "editor|1.1|2|2", #"editor|new|in "C:\x", y|1"#]

        /// Numbers as both databases print them: `0.50` becomes `0.5`.
        private static func rows(_ output: String) -> [String] {
            output.split(separator: "\n").map { row in
                row.split(separator: "|").map { cell in
                    guard cell.contains("."), Double(cell) != nil, !cell.hasPrefix("1.") else { return String(cell) }
                    let digits = cell.reversed().drop { $0 == "0" }.drop { $0 == "." }
                    return String(digits.reversed())
                }.joined(separator: "|")
            }
        }

        @Test("The examples run in DuckDB", .enabled(if: hasDuckDB, "DuckDB is not installed"))
        func duckdb() throws {
            let examples = try Self.examples(of: "DuckDB")
            try #require(examples.count == 3)
            let scratch = try Scratch()
            try scratch.write(Self.lines(), to: "incidents.ndjson")
            let code = """
                import duckdb, sys
                for query in sys.argv[1:]:
                    result = duckdb.execute(query)
                    for row in result.fetchall() if 'count(*)' in query else []:
                        print('|'.join(str(cell) for cell in row))
                """
            let program = try Program([interpreter, "-c", code] + examples, directory: scratch.path)
            #expect(try program.end().code == 0, "\(program.text(.errors))")
            #expect(Self.rows(program.text(.output)) == Self.answer)
        }

        @Test("The examples run in PostgreSQL", .enabled(if: hasPostgreSQL, "PostgreSQL is not installed"))
        func postgresql() throws {
            let examples = try Self.examples(of: "PostgreSQL")
            try #require(examples.count == 3)
            let scratch = try Scratch()
            let data = try scratch.makeDirectory("data", mode: 0o700)
            chmod(scratch.path, 0o755)
            let account = try UserAccount.find(user: "postgres")
            chown(data, account.credentials.user, account.credentials.group)
            try scratch.write(Self.lines(), to: "incidents.ndjson")
            try scratch.write(examples.joined(), to: "examples.sql")
            let make = try Program(["runuser", "-u", "postgres", "--", "initdb", "-A", "trust", "-N", "-D", data])
            try #require(try make.end().code == 0, "\(make.text(.errors))")
            // It listens only in its own folder, and exits with this shell.
            let script = """
                postgres -D "$1" -k "$1" -h '' -c dynamic_shared_memory_type=mmap >"$1/log" 2>&1 & server=$!
                tries=0
                until psql -q -h "$1" -d postgres -c 'select 1' >/dev/null 2>&1; do
                    tries=$((tries + 1)); [ "$tries" -lt 200 ] || break; sleep 0.1
                done
                psql -XAtq -h "$1" -d postgres -v ON_ERROR_STOP=1 -f examples.sql; code=$?
                kill -INT "$server"; wait "$server"; exit "$code"
                """
            let run = try Program(
                ["runuser", "-u", "postgres", "--", "sh", "-c", script, "sh", data], directory: scratch.path)
            #expect(try run.end().code == 0, "\(run.text(.errors))")
            #expect(Self.rows(run.text(.output)) == Self.answer, "\(run.text(.output))")
        }
    }
}
