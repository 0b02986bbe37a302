// SPDX-License-Identifier: Apache-2.0

import CSQLite
import WatchdogBase

/// A connection to an SQLite file, with its prepared statements.
///
/// Isolation: one thread at a time.
final class Connection {
    let path: String
    private let handle: OpaquePointer
    private var statements: [String: Statement] = [:]

    /// Opens a file.
    ///
    /// - Parameters:
    ///   - flags: as for `sqlite3_open_v2`.
    ///   - patience: how long to wait for a lock of another process.
    init(_ path: String, uri: String? = nil, flags: Int32, patience: Duration) throws(HistoryError) {
        var handle: OpaquePointer?
        let result = sqlite3_open_v2(uri ?? path, &handle, flags | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE, nil)
        guard result == SQLITE_OK, let handle else {
            defer { sqlite3_close(handle) }
            throw HistoryError(path, handle, result)
        }
        self.path = path
        self.handle = handle
        sqlite3_busy_timeout(handle, Int32(clamping: patience.wholeMicroseconds / 1_000))
        // The file may have been written by somebody else: no function runs because its schema says so.
        sqlite3_exec(handle, "PRAGMA trusted_schema = OFF", nil, nil, nil)
    }

    deinit {
        for statement in statements.values { statement.finish() }
        sqlite3_close(handle)
    }

    /// Runs statements that have no result.
    func execute(_ statements: String) throws(HistoryError) {
        let result = sqlite3_exec(handle, statements, nil, nil, nil)
        guard result == SQLITE_OK else { throw HistoryError(path, handle, result) }
    }

    /// Runs a statement with these values, and gives each row of its result to `body`.
    func run(_ text: String, _ values: [Value] = [], _ body: (Row) -> Void = { _ in }) throws(HistoryError) {
        let statement = try statement(text)
        defer { statement.reset() }
        for (index, value) in values.enumerated() { statement.bind(value, at: Int32(index + 1)) }
        while true {
            switch statement.step() {
            case SQLITE_ROW: body(statement.row)
            case SQLITE_DONE: return
            case let result: throw HistoryError(path, handle, result)
            }
        }
    }

    /// The integer in the first column of the first row; nil without a row.
    func integer(_ text: String, _ values: [Value] = []) throws(HistoryError) -> Int64? {
        var found: Int64?
        try run(text, values) { if found == nil { found = $0.integer(0) } }
        return found
    }

    /// Does everything in one transaction, or nothing of it.
    func transaction(_ body: () throws(HistoryError) -> Void) throws(HistoryError) {
        try execute("BEGIN IMMEDIATE")
        do {
            try body()
            try execute("COMMIT")
        } catch {
            // SQLite has rolled back by itself after some failures; then this one says so.
            try? execute("ROLLBACK")
            throw error
        }
    }

    /// The row that was inserted last.
    var lastRow: Int64 { sqlite3_last_insert_rowid(handle) }

    private func statement(_ text: String) throws(HistoryError) -> Statement {
        if let statement = statements[text] { return statement }
        var prepared: OpaquePointer?
        let result = sqlite3_prepare_v3(handle, text, -1, UInt32(SQLITE_PREPARE_PERSISTENT), &prepared, nil)
        guard result == SQLITE_OK, let prepared else { throw HistoryError(path, handle, result) }
        let statement = Statement(prepared)
        statements[text] = statement
        return statement
    }
}

/// A value of a column.
enum Value {
    case text(String)
    case integer(Int64)
    case bytes([UInt8])
    case null

    init(_ text: String?) { self = text.map { .text($0) } ?? .null }
    init(_ integer: Int64?) { self = integer.map { .integer($0) } ?? .null }
    init(_ integer: Int?) { self.init(integer.map { Int64($0) }) }
    init(_ duration: Duration?) { self.init(duration.map(\.wholeMicroseconds)) }
}

/// The columns of one row, valid until the next row.
///
/// SQLite does not notice a changed bit of a value, and whoever may write to the file may write any number. So numbers are
/// limited to what can be computed with.
struct Row {
    fileprivate let statement: OpaquePointer
    /// The difference of two times fits.
    private static let integers: ClosedRange<Int64> = -(1 << 61)...1 << 61

    func integer(_ column: Int32) -> Int64? {
        guard sqlite3_column_type(statement, column) != SQLITE_NULL else { return nil }
        let value = sqlite3_column_int64(statement, column)
        return min(max(value, Self.integers.lowerBound), Self.integers.upperBound)
    }

    /// A number of launches; their sum over all rows fits.
    func count(_ column: Int32) -> Int { Int(min(max(integer(column) ?? 0, 0), Int64(DurationBuckets.largestCount))) }

    func duration(_ column: Int32) -> Duration? { integer(column).map { .microseconds($0) } }

    /// At most 1 KiB: the file may hold anything.
    func text(_ column: Int32) -> String {
        guard let text = sqlite3_column_text(statement, column) else { return "" }
        let count = min(Int(sqlite3_column_bytes(statement, column)), 1 << 10)
        return String(decoding: UnsafeBufferPointer(start: text, count: count), as: UTF8.self)
    }

    /// At most 1 MiB.
    func bytes(_ column: Int32) -> [UInt8] { withBytes(column) { [UInt8]($0) } }

    /// The bytes where SQLite has them, at most 1 MiB.
    func withBytes<Result>(_ column: Int32, _ body: (UnsafeRawBufferPointer) -> Result) -> Result {
        // The size is that of the form that was asked for last.
        let start = sqlite3_column_blob(statement, column)
        let count = min(Int(sqlite3_column_bytes(statement, column)), 1 << 20)
        return body(UnsafeRawBufferPointer(start: start, count: start == nil ? 0 : count))
    }
}

/// A prepared statement.
private struct Statement {
    private let pointer: OpaquePointer

    init(_ pointer: OpaquePointer) { self.pointer = pointer }

    var row: Row { Row(statement: pointer) }

    /// SQLITE_TRANSIENT, a cast that Swift does not import: SQLite makes a copy.
    private static var copied: sqlite3_destructor_type { unsafeBitCast(-1, to: sqlite3_destructor_type.self) }

    func bind(_ value: Value, at index: Int32) {
        switch value {
        case .text(let text): sqlite3_bind_text(pointer, index, text, -1, Self.copied)
        case .integer(let number): sqlite3_bind_int64(pointer, index, number)
        case .bytes(let bytes): sqlite3_bind_blob(pointer, index, bytes, Int32(bytes.count), Self.copied)
        case .null: sqlite3_bind_null(pointer, index)
        }
    }

    func step() -> Int32 { sqlite3_step(pointer) }

    func reset() {
        sqlite3_reset(pointer)
        sqlite3_clear_bindings(pointer)
    }

    func finish() { sqlite3_finalize(pointer) }
}
