// SPDX-License-Identifier: Apache-2.0

/// The stage of a process's life, disregarding a capture in progress.
///
/// During a capture that kills, only death counts. During one that only reports, life continues: signs of life count
/// when they arrive.
enum Life: Hashable, Sendable, Codable {
    case idle
    case launching
    case running
    case terminating(isRequested: Bool)
    case dying
    indirect case ended(Outcome)

    private enum CodingKeys: String, CodingKey { case idle, launching, running, terminating, dying, ended }
    private enum TerminatingCodingKeys: String, CodingKey { case isRequested }

    /// Whether there is a process that is not condemned.
    var isLive: Bool {
        switch self {
        case .launching, .running, .terminating: true
        case .idle, .dying, .ended: false
        }
    }
}
