// SPDX-License-Identifier: Apache-2.0

import WatchdogBase
import WatchdogPolicy

extension AppReader {
    /// Sets the keys of `[Watchdog]` about foreground, background and suspension.
    mutating func setLifecycle(_ key: ConfigurationKey, _ text: SourceText) throws(ValueError) {
        switch key {
        case .enterBackground: try set(\.watchdog.lifecycle.enterBackground, text, try Self.allowance(text))
        case .background: try set(\.watchdog.lifecycle.background, text, try Self.allowance(text))
        case .expiration: try set(\.watchdog.lifecycle.expiration, text, try Self.allowance(text))
        case .suspendAfter: try set(\.watchdog.lifecycle.idle, text, try Self.spanUnless("off", text))
        case .taskWarning: try set(\.watchdog.lifecycle.taskWarning, text, try Self.allowance(text))
        case .taskLimit: try set(\.watchdog.lifecycle.taskLimit, text, try ValueReader.integer(text, in: 1...1_000_000))
        case .backgroundCPU:
            try set(\.watchdog.lifecycle.backgroundCPUTime, text, try Self.spanUnless("infinity", text))
        case .launchInBackground:
            try set(\.watchdog.lifecycle.launchesInBackground, text, try ValueReader.boolean(text))
        case .backgroundLaunch: try set(\.watchdog.lifecycle.backgroundLaunch, text, try Self.allowance(text))
        case .backgroundLaunchCPU: try set(\.watchdog.lifecycle.launchCPUTime, text, try Self.allowance(text))
        default: preconditionFailure("\(key.rawValue) is not a key of [Watchdog]")
        }
    }

    private static func spanUnless(_ word: String, _ text: SourceText) throws(ValueError) -> Duration? {
        if try ValueReader.short(text) == word { return nil }
        return try allowance(text)
    }

    mutating func checkLifecycle() {
        let lifecycle = draft.watchdog.lifecycle
        if lifecycle.expiration > lifecycle.background {
            if settings[.expiration] != nil {
                report(
                    .error, .expiration,
                    "longer than Background=, which it is part of: \(TimeSpan.text(lifecycle.background))")
            } else {
                draft.watchdog.lifecycle.expiration = lifecycle.background
            }
        }
        if lifecycle.launchesInBackground {
            report(
                .warning, .launch,
                "no effect, because of LaunchInBackground=yes; BackgroundLaunch= applies instead")
        }
    }
}
