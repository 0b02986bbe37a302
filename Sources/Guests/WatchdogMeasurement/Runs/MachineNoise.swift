// SPDX-License-Identifier: Apache-2.0

/// The shares of the CPUs that were not available to the measurement.
public struct MachineNoise: Codable, Equatable, Sendable {
    /// The share of the CPUs that other processes used, from 0 to 1.
    public let others: Double
    /// The share of the CPUs that the hypervisor withheld, from 0 to 1.
    public let stolen: Double

    /// The minimum share that is reported.
    public static let notable = 0.1

    /// Computes the shares.
    ///
    /// - Parameters:
    ///   - busy: The busy time of all CPUs.
    ///   - own: The part that the measurement itself used.
    ///   - stolen: The time that the hypervisor withheld.
    ///   - capacity: The elapsed time, multiplied by the number of CPUs.
    public init(busy: Duration, own: Duration, stolen: Duration, capacity: Duration) {
        func share(_ time: Duration) -> Double { capacity > .zero ? min(max(time / capacity, 0), 1) : 0 }
        others = share(busy - own)
        self.stolen = share(stolen)
    }

    /// One sentence for each notable kind of noise.
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
