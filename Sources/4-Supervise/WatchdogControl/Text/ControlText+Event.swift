// SPDX-License-Identifier: Apache-2.0

import WatchdogBase

extension ControlText {
    /// The text of a `Monitor` reply: an event, a number of missed events, or nothing.
    public static func event(_ reply: MonitorReply, style: Style = Style()) -> String {
        var text = reply.isWithheld == true ? "-- only root and the owner of this watchdogd see the messages --\n" : ""
        if let missed = reply.missed { text += "-- \(missed.counted("event was", "events were")) missed --\n" }
        if let event = reply.event { text += self.event(event, style: style) }
        return text
    }

    /// One event, with its time, app and process.
    public static func event(_ event: ControlEvent, style: Style = Style()) -> String {
        let app = event.app?.singleLine() ?? "watchdogd"
        let pid = event.pid.map { "[\($0)]" } ?? ""
        let stamp = style.time.date(event.time)
        let indent = String(repeating: " ", count: stamp.count + 1)
        let lines = "\(stamp) \(app)\(pid): \(event.message.singleLine())"
            .wrapped(columns: style.columns ?? .max, indent: indent)
        let paint = TextStyle(isColored: style.isColored)
        var text = lines.map { paint($0, event.kind.meaning) + "\n" }.joined()
        if let report = event.report, !event.message.contains(report) {
            text += indent + report.singleLine() + "\n"
        }
        return text
    }
}

extension ControlEvent.Kind {
    /// The meaning of the event to an operator; nil for a neutral event.
    fileprivate var meaning: TextStyle.Meaning? {
        switch self {
        case .exhausted, .reported, .unkillable, .limitReached, .launchFailed, .captureFailed: .failure
        case .slow, .hung, .probeFailed, .probeImpossible, .credited, .rebased, .paused, .extensionRefused,
            .messageRefused, .channelLost, .leftBehind, .reloadFailed, .launchRegressed, .restarting:
            .caution
        case .ready, .probeRecovered: .success
        default: nil
        }
    }
}
