// SPDX-License-Identifier: Apache-2.0

/// The app's processes, searched when they are first needed.
///
/// Without a cgroup, that lists all of `/proc`, which takes a millisecond for a thousand processes.
///
/// Isolation: belongs to one thread.
final class Family {
    private let search: () -> [Int32]
    private var found: [Int32]?

    init(_ search: @escaping () -> [Int32]) { self.search = search }

    func processes(_ budget: WorkBudget) -> [Int32] {
        if let found { return found }
        let processes = budget.useReserve { _ in search() }
        found = processes
        return processes
    }
}
