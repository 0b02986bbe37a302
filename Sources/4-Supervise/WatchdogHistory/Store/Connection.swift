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
    private static let cachedKilobytes = 256

    /// Opens a file.
    ///
    /// - Parameters:
    ///   - flags: as for `sqlite3_open_v2`.
    ///   - patience: the time limit of waiting for a lock of another process.
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
        // The file is untrusted: do not let its schema run functions.
        sqlite3_exec(handle, "PRAGMA trusted_schema = OFF", nil, nil, nil)
        // The kernel caches the file, too.
        sqlite3_exec(handle, "PRAGMA cache_size = -\(Self.cachedKilobytes)", nil, nil, nil)
    }

    deinit {
        for statement in statements.values { statement.finish() }
        sqlite3_close(handle)
    }

    /// Runs statements without a result.
    func execute(_ statements: String) throws(HistoryError) {
        let result = sqlite3_exec(handle, statements, nil, nil, nil)
        guard result == SQLITE_OK else { throw HistoryError(path, handle, result) }
    }

    /// Runs a statement with these values, and calls `body` with each row of its result.
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

    /// Runs `body` in a transaction, which is rolled back if it throws.
    func transaction(_ body: () throws(HistoryError) -> Void) throws(HistoryError) {
        try execute("BEGIN IMMEDIATE")
        do {
            try body()
            try execute("COMMIT")
        } catch {
            // After some failures, SQLite has already rolled back by itself; then this fails, which is harmless.
            try? execute("ROLLBACK")
            throw error
        }
    }

    /// The ID of the row that was inserted last.
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
/// SQLite does not detect a flipped bit, and any program with write permission can store any number. So numbers are
/// clamped to a range in which calculations cannot overflow.
struct Row {
    fileprivate let statement: OpaquePointer
    /// The difference of two such numbers does not overflow.
    private static let integers: ClosedRange<Int64> = -(1 << 61)...1 << 61

    func integer(_ column: Int32) -> Int64? {
        guard sqlite3_column_type(statement, column) != SQLITE_NULL else { return nil }
        let value = sqlite3_column_int64(statement, column)
        return min(max(value, Self.integers.lowerBound), Self.integers.upperBound)
    }

    /// A number of launches; clamped so that the sum over all rows does not overflow.
    func count(_ column: Int32) -> Int { Int(min(max(integer(column) ?? 0, 0), Int64(DurationBuckets.largestCount))) }

    func duration(_ column: Int32) -> Duration? { integer(column).map { .microseconds($0) } }

    /// A text, cut to 1 KiB because the file is untrusted.
    func text(_ column: Int32) -> String {
        guard let text = sqlite3_column_text(statement, column) else { return "" }
        let count = min(Int(sqlite3_column_bytes(statement, column)), 1 << 10)
        return String(decoding: UnsafeBufferPointer(start: text, count: count), as: UTF8.self)
    }

    /// A blob, cut to 1 MiB.
    func bytes(_ column: Int32) -> [UInt8] { withBytes(column) { [UInt8]($0) } }

    /// Calls `body` with a blob in SQLite's memory, cut to 1 MiB.
    func withBytes<Result>(_ column: Int32, _ body: (UnsafeRawBufferPointer) -> Result) -> Result {
        // Call this first: sqlite3_column_bytes returns the size of the last requested form.
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

    /// SQLITE_TRANSIENT, whose cast Swift does not import, makes SQLite copy the bytes.
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
