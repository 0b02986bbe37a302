// SPDX-License-Identifier: Apache-2.0

/// How a liveness probe ended.
public enum ProbeResult: Hashable, Sendable {
    /// The app answered as it should.
    case answered
    /// It refused or answered wrongly; the reason is part of a sentence.
    case failed(String)
    /// The supervisor could not probe: that says nothing of the app.
    case impossible(String)
}
