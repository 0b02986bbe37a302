// SPDX-License-Identifier: Apache-2.0

/// How a liveness probe ended.
public enum ProbeResult: Hashable, Sendable {
    /// The app answered as expected.
    case answered
    /// The app refused or gave a wrong answer; the reason is part of a sentence.
    case failed(String)
    /// The supervisor could not probe, which says nothing about the app.
    case impossible(String)
}
