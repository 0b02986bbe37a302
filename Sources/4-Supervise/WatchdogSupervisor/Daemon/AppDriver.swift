// SPDX-License-Identifier: Apache-2.0

import WatchdogLinux
import WatchdogPolicy

/// Holds an app's machine: passes it events in order and its deadlines, and passes its effects to whoever executes
/// them.
///
/// Isolation: the loop's thread. An effect may send events; they are queued.
final class AppDriver {
    private(set) var machine: AppMachine
    /// Executes an effect.
    var perform: (AppEffect) -> Void = { _ in }
    /// Called when every effect of an event, and of the events within them, has been executed.
    var onHandled: () -> Void = {}

    private let loop: EventLoop
    private var queue: [AppEvent] = []
    private var isHandling = false
    private var timer: Timer?

    init(_ machine: AppMachine, on loop: EventLoop) {
        self.machine = machine
        self.loop = loop
    }

    /// Passes an event to the machine.
    func receive(_ event: AppEvent) {
        guard !isHandling else { return queue.append(event) }
        isHandling = true
        answer(event)
        while !queue.isEmpty { answer(queue.removeFirst()) }
        isHandling = false
        arm()
        onHandled()
    }

    /// Passes on the answer to the effect that is being executed.
    func answer(_ event: AppEvent) {
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
