// SPDX-License-Identifier: Apache-2.0

/// How much of the CPUs did not serve the measurement while it ran.
public struct MachineNoise: Codable, Equatable, Sendable {
    /// The share of the CPUs that other processes used, from 0 to 1.
    public let others: Double
    /// The share of the CPUs that the hypervisor took, from 0 to 1.
    public let stolen: Double

    /// From this share on, noise is mentioned.
    public static let notable = 0.1

    /// Computes the shares.
    ///
    /// - Parameters:
    ///   - busy: The time that all CPUs worked.
    ///   - own: The part of it that the measurement used itself.
    ///   - stolen: The time that the hypervisor took.
    ///   - capacity: The time that passed, multiplied by the number of CPUs.
    public init(busy: Duration, own: Duration, stolen: Duration, capacity: Duration) {
        func share(_ time: Duration) -> Double { capacity > .zero ? min(max(time / capacity, 0), 1) : 0 }
        others = share(busy - own)
        self.stolen = share(stolen)
    }

    /// One sentence for each kind of noise that is notable.
    public var sentences: [String] {
        var sentences: [String] = []
        if others >= Self.notable {
            sentences.append(
                "other processes used \(FigureText.percent(others)) of the CPUs: wall time is unreliable, CPU time is reliable"
            )
        }
        if stolen >= Self.notable {
            sentences.append(
                "the hypervisor took \(FigureText.percent(stolen)) of the CPUs: neither wall time nor CPU time alone is reliable; "
                    + "compare with --against")
        }
        return sentences
    }
}
