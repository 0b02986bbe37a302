// SPDX-License-Identifier: Apache-2.0

package import WatchdogBase
import WatchdogReport

extension LaunchDetails {
    /// How many signposts a report has.
    private static let signpostLimit = 128
    /// How many of those that were open have a place among them, the latest first.
    private static let openLimit = 32

    /// The part of a launch that goes into a report; nil if this watchdogd saw nothing of the launch.
    ///
    /// - Parameters:
    ///   - ready: from `execve` to ready; nil if the app was not ready.
    ///   - end: when the launch was decided, or ended otherwise; counts only for an app that was not ready.
    package init?(_ trace: LaunchTrace, launchedAt: Instant, ready: Duration?, until end: Instant) {
        guard ready == nil ? trace.requested != nil : trace.hasMarks else { return nil }
        let duration = ready ?? max(.zero, end - launchedAt)
        let over = launchedAt + duration
        // The times come from the app: nothing began before it was launched.
        let signposts = trace.intervals.filter { $0.start <= over }.map { interval in
            let start = max(interval.start, launchedAt)
            let isOpen = !interval.isEvent && (interval.end ?? .init(nanoseconds: .max)) > over
            return Signpost(
                name: Self.words(interval.name), category: Self.words(interval.category),
                startNanoseconds: (start - launchedAt).nanoseconds,
                nanoseconds: interval.isEvent
                    ? nil : (max(start, min(interval.end ?? over, over)) - start).nanoseconds,
                isOpen: isOpen, isOnMainThread: interval.isOnMainThread)
        }
        let kept = Self.mostImportant(signposts)
        let lost = trace.lost + signposts.count - kept.count
        self.init(
            isReady: ready != nil, nanoseconds: duration.nanoseconds,
            phases: LaunchPhases(trace, launchedAt: launchedAt, until: over, isReady: ready != nil).phases,
            firstFrameNanoseconds: trace.firstFrame.map { max(.zero, $0 - launchedAt).nanoseconds },
            usefulNanoseconds: trace.useful.map { max(.zero, $0 - launchedAt).nanoseconds },
            signposts: kept,
            tasks: trace.tasks.map { task in
                let start = max(task.start, launchedAt)
                return Task(
                    name: Self.words(task.name), startNanoseconds: (start - launchedAt).nanoseconds,
                    nanoseconds: max(.zero, (task.end ?? max(end, over)) - start).nanoseconds, isOpen: task.end == nil)
            },
            event: trace.cause?.words, lostMarks: lost > 0 ? lost : nil,
            unrecorded: trace.startup.log == nil ? trace.startup.refusal : nil)
    }

    private static func words(_ text: String) -> String { Redaction.value(text).singleLine(limit: 64) }

    /// Within the limit: those that were open, and the longest others, in order of time.
    private static func mostImportant(_ signposts: [Signpost]) -> [Signpost] {
        let sorted = signposts.enumerated().sorted {
            ($0.element.startNanoseconds, $0.offset) < ($1.element.startNanoseconds, $1.offset)
        }
        guard sorted.count > signpostLimit else { return sorted.map(\.element) }
        let open = sorted.filter(\.element.isOpen).suffix(openLimit)
        let isKept = Set(open.map(\.offset))
        let longest = sorted.filter { !isKept.contains($0.offset) }.sorted {
            ($1.element.nanoseconds ?? 0, $0.offset) < ($0.element.nanoseconds ?? 0, $1.offset)
        }.prefix(signpostLimit - open.count)
        let all = isKept.union(longest.map(\.offset))
        return sorted.filter { all.contains($0.offset) }.map(\.element)
    }
}
