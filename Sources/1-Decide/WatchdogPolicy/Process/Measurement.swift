// SPDX-License-Identifier: Apache-2.0

/// What a machine has measured of an app's answer.
public enum Measurement: Hashable, Sendable {
    /// The main loop answered a ping in this time.
    case ping(Duration)
    /// A liveness probe succeeded in this time.
    case probe(Duration)
    /// A liveness probe of an app that was ready failed, whatever follows from that.
    case failedProbe
}
