// SPDX-License-Identifier: Apache-2.0

import WatchdogBase
package import WatchdogLinux
package import WatchdogPolicy

/// Holds an app's machine: passes it events in order and its deadlines, and passes its effects to whoever executes
/// them.
///
/// Isolation: the loop's thread. An effect may send events; they are queued.
package final class AppDriver {
    package private(set) var machine: AppMachine
    /// Executes an effect.
    package var perform: (AppEffect) -> Void = { _ in }
    /// Called when every effect of an event, and of the events within them, has been executed.
    package var onHandled: () -> Void = {}
    /// Whether a launch that is due may begin in this turn of the loop.
    var mayLaunchAtOnce: () -> Bool = { false }

    private let loop: EventLoop
    private var queue: [AppEvent] = []
    private var isHandling = false
    private var timer: Timer?
    private var launchedAtOnceAt: Instant?
    /// An app that ends all the time is launched by its timer, behind the events of others.
    private static let pause = Duration.seconds(1)

    package init(_ machine: AppMachine, on loop: EventLoop) {
        self.machine = machine
        self.loop = loop
    }

    /// Passes an event to the machine.
    package func receive(_ event: AppEvent) {
        guard !isHandling else { return queue.append(event) }
        isHandling = true
        answerAll(event)
        if isLaunchDue { answerAll(.deadlineReached) }
        isHandling = false
        arm()
        onHandled()
    }

    private func answerAll(_ event: AppEvent) {
        answer(event)
        while !queue.isEmpty { answer(queue.removeFirst()) }
    }

    /// Whether the next launch is due already and need not wait for the timer, which comes after everything else that an end
    /// has caused.
    private var isLaunchDue: Bool {
        guard case .waiting(let due) = machine.phase else { return false }
        let now = loop.now
        guard due <= now, launchedAtOnceAt.map({ now - $0 >= Self.pause }) ?? true, mayLaunchAtOnce() else {
            return false
        }
        launchedAtOnceAt = now
        return true
    }

    /// Passes on the answer to the effect that is being executed.
    package func answer(_ event: AppEvent) {
        for effect in machine.handle(event, at: loop.now) { perform(effect) }
    }

    private func arm() {
        let due = machine.nextDeadline
        guard due != timer?.due else { return }
        do {
            // The lowest priority: apps that fail repeatedly must not delay requests to end them.
            if timer == nil {
                timer = try loop.timer(priority: .last) { [unowned self] _ in receive(.deadlineReached) }
            }
            timer?.arm(at: due)
        } catch {
            receive(.timerFailed(reason: "\(error)"))
        }
    }
}
