// SPDX-License-Identifier: Apache-2.0

import CSampleSQLite

/// An SQLite database, used by one thread at a time.
package final class Database {
    /// The failure of a statement, in SQLite's words.
    package struct Failure: Error, CustomStringConvertible {
        package let description: String
    }

    /// The columns of one row, valid during the callback.
    package struct Row {
        fileprivate let statement: OpaquePointer

        package func text(_ column: Int32) -> String {
            sqlite3_column_text(statement, column).map { String(cString: $0) } ?? ""
        }

        package func integer(_ column: Int32) -> Int { Int(sqlite3_column_int64(statement, column)) }

        package func real(_ column: Int32) -> Double { sqlite3_column_double(statement, column) }
    }

    private let handle: OpaquePointer

    package init(_ path: String) throws(Failure) {
        var handle: OpaquePointer?
        let flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX
        guard sqlite3_open_v2(path, &handle, flags, nil) == SQLITE_OK, let handle else {
            let reason = handle.map { String(cString: sqlite3_errmsg($0)) } ?? "out of memory"
            sqlite3_close(handle)
            throw Failure(description: "cannot open \(path): \(reason)")
        }
        self.handle = handle
    }

    deinit { sqlite3_close(handle) }

    /// Runs statements that have no result.
    package func execute(_ statements: String) throws(Failure) {
        guard sqlite3_exec(handle, statements, nil, nil, nil) == SQLITE_OK else { throw failure }
    }

    /// Runs one statement for each row of values, in one transaction.
    package func insert(_ statement: String, _ rows: some Sequence<[Value]>) throws(Failure) {
        try execute("BEGIN")
        let prepared = try prepare(statement)
        defer { sqlite3_finalize(prepared) }
        for row in rows {
            for (index, value) in row.enumerated() { value.bind(to: prepared, Int32(index + 1)) }
            guard sqlite3_step(prepared) == SQLITE_DONE else { throw failure }
            sqlite3_reset(prepared)
        }
        try execute("COMMIT")
    }

    /// Runs a query, and maps each row of the result.
    package func select<Element>(_ query: String, _ map: (Row) -> Element) throws(Failure) -> [Element] {
        let prepared = try prepare(query)
        defer { sqlite3_finalize(prepared) }
        var elements: [Element] = []
        while true {
            switch sqlite3_step(prepared) {
            case SQLITE_ROW: elements.append(map(Row(statement: prepared)))
            case SQLITE_DONE: return elements
            default: throw failure
            }
        }
    }

    /// A value of a column.
    package enum Value: Sendable {
        case text(String)
        case integer(Int)
        case real(Double)

        fileprivate func bind(to statement: OpaquePointer, _ index: Int32) {
            switch self {
            // SQLITE_TRANSIENT, whose cast Swift does not import, makes SQLite copy the bytes.
            case .text(let text):
                sqlite3_bind_text(statement, index, text, -1, unsafeBitCast(-1, to: sqlite3_destructor_type.self))
            case .integer(let number): sqlite3_bind_int64(statement, index, Int64(number))
            case .real(let number): sqlite3_bind_double(statement, index, number)
            }
        }
    }

    private func prepare(_ statement: String) throws(Failure) -> OpaquePointer {
        var prepared: OpaquePointer?
        guard sqlite3_prepare_v2(handle, statement, -1, &prepared, nil) == SQLITE_OK, let prepared else {
            throw failure
        }
        return prepared
    }

    private var failure: Failure { Failure(description: String(cString: sqlite3_errmsg(handle))) }
}
