// SPDX-License-Identifier: Apache-2.0

/// The callers that wait for a launch of an app, or for its end; each gets one answer.
struct AppWaiters {
    private var forLaunch: [AppWaiter] = []
    private var forEnd: [AppWaiter] = []

    mutating func waitForLaunch(_ waiter: AppWaiter) { forLaunch.append(waiter) }
    mutating func waitForEnd(_ waiter: AppWaiter) { forEnd.append(waiter) }

    /// The process runs: answers those who do not wait until it is ready.
    mutating func launched(_ answer: AppAnswer, _ step: inout AppStep) {
        for waiter in forLaunch where !waiter.waits { step.add(.answer(waiter.id, answer)) }
        forLaunch.removeAll { !$0.waits }
    }

    /// The process is ready, or will not be: answers everybody who waits for the launch.
    mutating func launchConcluded(_ answer: AppAnswer, _ step: inout AppStep) {
        for waiter in forLaunch { step.add(.answer(waiter.id, answer)) }
        forLaunch = []
    }

    mutating func ended(_ step: inout AppStep) {
        for waiter in forEnd { step.add(.answer(waiter.id, .terminated(isGone: true))) }
        forEnd = []
    }

    /// The app cannot be ended, so it is not launched either.
    mutating func giveUp(_ answer: AppAnswer, _ step: inout AppStep) {
        for waiter in forLaunch + forEnd { step.add(.answer(waiter.id, answer)) }
        (forLaunch, forEnd) = ([], [])
    }
}
