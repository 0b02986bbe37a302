// SPDX-License-Identifier: Apache-2.0

import Glibc
import WatchdogBase
import WatchdogMeasurement

/// How far a measurement is, in one line on a terminal; nothing elsewhere.
struct MeasureProgress {
    private let line = ProgressLine()

    func show(_ progress: MeasurementSession.Progress) {
        guard let total = progress.total else {
            let left = progress.remaining.map { ", at most \(Self.seconds($0)) left" } ?? ""
            return line.show("launch \(progress.completed + 1)\(left)")
        }
        guard progress.completed < total else { return }
        let left = progress.remaining.map { ", \(Self.seconds($0)) left" } ?? ""
        line.show(
            "launch \(progress.completed + 1) of \(total)\(left)", Double(progress.completed) / Double(total))
    }

    func clear() { line.clear() }

    private static func seconds(_ time: Duration) -> String {
        let seconds = Int64((time / .seconds(1)).rounded(.up))
        return seconds < 60 ? "\(seconds) s" : "\(seconds / 60) min \(seconds % 60) s"
    }
}

/// The width of the terminal that standard output goes to.
enum TerminalWidth {
    /// 80 where there is none, or `$COLUMNS`.
    static var columns: Int {
        if let text = getenv("COLUMNS"), let columns = Int(String(cString: text)), (20...1000).contains(columns) {
            return columns
        }
        var size = winsize()
        guard ioctl(STDOUT_FILENO, UInt(TIOCGWINSZ), &size) == 0, size.ws_col >= 20 else { return 80 }
        return Int(size.ws_col)
    }
}
