// SPDX-License-Identifier: Apache-2.0

import WatchdogBase

/// The row of a launch, to be completed.
struct LaunchRow {
    private let id: Int64
    private let app: Int64
    private let time: Int64
    private let exec: Duration?
    private let known: Set<KeptLaunch.Moment>

    /// Finds the row of a launch; nil if it was not recorded or has been removed.
    static func find(_ completion: LaunchCompletion, in connection: Connection) throws(HistoryError) -> LaunchRow? {
        let moments = KeptLaunch.Moment.allCases
        var found: LaunchRow?
        try connection.run(
            """
            SELECT launch.id, launch.app, exec, \(moments.map(\.rawValue).joined(separator: ", ")) FROM launch
            JOIN app ON app.id = launch.app JOIN host ON host.id = launch.host
            WHERE app.name = ? AND time = ? AND host.name = ? AND kind = 'launch' ORDER BY launch.id DESC LIMIT 1
            """, [.text(completion.app), .integer(completion.time.microseconds), .text(completion.host)]
        ) { row in
            found = LaunchRow(
                id: row.integer(0) ?? 0, app: row.integer(1) ?? 0, time: completion.time.microseconds,
                exec: row.duration(2),
                known: Set(moments.enumerated().filter { row.integer(Int32($0.offset) + 3) != nil }.map(\.element)))
        }
        return found
    }

    /// Writes the values that the row does not have yet.
    ///
    /// A completion is relative to the moment of the execution; without that moment, its times cannot be added.
    func complete(
        with completion: LaunchCompletion, in connection: Connection, _ counts: inout MomentCounts
    ) throws(HistoryError) {
        guard let exec else { return }
        var added: [KeptLaunch.Moment: Duration] = [:]
        for moment in KeptLaunch.Moment.allCases where !known.contains(moment) {
            guard let time = completion.moments[moment] else { continue }
            added[moment] = exec + time
            try connection.run(
                "UPDATE launch SET \(moment.rawValue) = ? WHERE id = ?", [Value(added[moment]), .integer(id)])
        }
        counts.add(added, of: app, on: WallTime(microseconds: time).day)
        try Self.write(completion.tasks.map { $0.later(by: exec) }, of: id, to: connection)
    }

    /// Writes the tasks of a launch, in place of the existing ones.
    static func write(
        _ tasks: [KeptLaunch.Task], of launch: Int64, to connection: Connection
    ) throws(HistoryError) {
        for task in tasks {
            try connection.run(
                "INSERT OR REPLACE INTO launch_task (launch, name, began, ended) VALUES (?, ?, ?, ?)",
                [.integer(launch), .text(task.name), Value(task.begin), Value(task.end)])
        }
    }
}
