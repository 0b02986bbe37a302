// SPDX-License-Identifier: Apache-2.0

import WatchdogBase
import WatchdogRendering

extension LaunchText {
    /// How many constructors are shown.
    private static let constructorLimit = 10

    /// The timed constructors, the slowest first.
    mutating func constructors() {
        guard recording.constructors != nil else { return }
        let constructors = figures.constructorsByTime
        guard !constructors.isEmpty else { return heading("Constructors", paint("  none", .quiet)) }
        let shown = constructors.prefix(Self.constructorLimit)
        let room = min(width - 30, max(24, shown.map { $0.title.count + $0.file.count + 4 }.max() ?? 0))
        heading("Constructors (ms)".alignedLeft(2 + room), "    wall  on CPU   start")
        for constructor in shown {
            let times = [constructor.wall, constructor.time?.running, constructor.begin]
            let columns = times.map { ($0.map(milliseconds) ?? "-").alignedRight(8) }.joined()
            let mark = constructor.isComplete ? "" : " >"
            line("  " + Self.name(of: constructor, room).alignedLeft(room) + columns + mark)
        }
        let rest = constructors.dropFirst(Self.constructorLimit)
        if !rest.isEmpty {
            line(paint("  \(rest.count) more, \(rest.reduce(.zero) { $0 + $1.wall }.brief) together", .quiet))
        }
        if shown.contains(where: { !$0.isComplete }) { line(paint("  > not finished", .quiet)) }
    }

    /// The function with its file, of which a long name leaves room for the other.
    private static func name(of constructor: LaunchConstructor, _ room: Int) -> String {
        let (title, file) = (constructor.title.singleLine(limit: 4_096), constructor.file.singleLine(limit: 4_096))
        let left = max(room - 4 - file.count, min(title.count, (room - 4) / 2))
        let function = cut(title, left)
        return function + "  (" + cut(file, room - 4 - function.count) + ")"
    }
}
