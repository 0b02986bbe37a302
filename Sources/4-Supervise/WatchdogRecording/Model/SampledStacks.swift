// SPDX-License-Identifier: Apache-2.0

import WatchdogBase

/// The sampled stacks of the main thread, as addresses in files.
public struct SampledStacks: Sendable {
    /// A file whose code was sampled.
    public struct Image: Hashable, Sendable {
        /// The path of the file or the name of the mapping, such as `[vdso]`, from the kernel.
        public var path: String
        /// The file's inode number; 0 if no file can name the functions.
        public var inode: UInt64

        /// Creates an image.
        public init(path: String, inode: UInt64) {
            self.path = path
            self.inode = inode
        }
    }

    /// An address on a stack.
    public struct Place: Hashable, Sendable {
        /// Index into ``SampledStacks/images``.
        public var image: Int
        /// The address minus the load address of its file.
        public var offset: UInt64
        /// Whether this is the program counter; all other addresses are return addresses.
        public var isInnermost: Bool

        /// Creates a place.
        public init(image: Int, offset: UInt64, isInnermost: Bool) {
            self.image = image
            self.offset = offset
            self.isInnermost = isInnermost
        }
    }

    /// The maximum length of a function's name, in characters.
    static let nameLimit = 255
    /// The maximum depth of the tree; inlined calls are deeper than the stack.
    private static let depthLimit = 128
    /// The approximate maximum size of the tree in a file, in bytes.
    private static let room = 16 << 20
    /// The same for the tree of one phase.
    private static let phaseRoom = 1 << 20

    /// The time between two samples.
    public internal(set) var interval: Duration
    /// The files.
    public internal(set) var images: [Image] = []
    /// The distinct addresses.
    public internal(set) var places: [Place] = []
    /// The distinct stacks of each phase, as the indices of their places, outermost first, with their numbers of samples.
    ///
    /// The phase is the index of the last one that had begun; nil before the first.
    var counts: [(stack: [Int], phase: Int?, count: Int)] = []

    init(interval: Duration) { self.interval = interval }

    /// Creates addresses that were not sampled, such as those of functions to name.
    public init() { interval = .zero }

    /// Adds a file, and returns its index.
    public mutating func add(_ image: Image) -> Int {
        images.append(image)
        return images.count - 1
    }

    /// Adds an address, and returns its index.
    public mutating func add(_ place: Place) -> Int {
        places.append(place)
        return places.count - 1
    }

    /// The paths of the files that are on a stack.
    var paths: Set<String> { Set(places.map { images[$0.image].path }) }

    private final class Node {
        var count = 0
        var callees: [Function: Node] = [:]
    }

    private struct Function: Hashable {
        var name: String?
        var path: String
    }

    /// The samples of all phases, or of one, as a tree of calls.
    ///
    /// - Parameters:
    ///   - names: the functions at places, by the index of the place, outermost first: more than one if calls
    ///     are inlined there, none if the function only forwards to another one. A place without a name is shown as its
    ///     file.
    ///   - phase: the index of the phase; nil for all.
    public func calls(named names: [Int: [String]] = [:], in phase: Int? = nil) -> SampledCalls {
        let names = names.mapValues { $0.map { $0.singleLine(limit: Self.nameLimit) } }
        let root = Node()
        var room = phase == nil ? Self.room : Self.phaseRoom
        for (stack, itsPhase, count) in counts where phase == nil || itsPhase == phase {
            root.count += count
            var node = root
            for function in functions(on: stack, names).prefix(Self.depthLimit) {
                var next = node.callees[function]
                if next == nil {
                    // JSON may encode one byte as six.
                    room -= 100 + 6 * ((function.name?.utf8.count ?? 0) + function.path.utf8.count)
                    guard room >= 0 else { break }
                    next = Node()
                    node.callees[function] = next
                }
                guard let next else { break }
                next.count += count
                node = next
            }
        }
        return SampledCalls(interval: interval, count: root.count, roots: Self.calls(root))
    }

    /// Gives each phase its samples.
    ///
    /// - Parameter names: as for ``calls(named:in:)``.
    func addCalls(named names: [Int: [String]] = [:], to phases: inout [LaunchPhase]) {
        for index in phases.indices where counts.contains(where: { $0.phase == index }) {
            phases[index].samples = calls(named: names, in: index)
        }
    }

    private func functions(on stack: [Int], _ names: [Int: [String]]) -> [Function] {
        var functions: [Function] = []
        for index in stack {
            let path = images[places[index].image].path
            guard let known = names[index] else {
                let unknown = Function(name: nil, path: path)
                if functions.last != unknown { functions.append(unknown) }
                continue
            }
            functions += known.map { Function(name: $0, path: path) }
        }
        return functions
    }

    private static func calls(_ node: Node) -> [SampledCalls.Call] {
        node.callees.map { function, callee in
            SampledCalls.Call(
                function: function.name ?? function.path.split(separator: "/").last.map(String.init) ?? "?",
                object: function.path.isEmpty ? nil : function.path, count: callee.count, callees: calls(callee))
        }.sorted { ($1.count, $0.function, $0.object ?? "") < ($0.count, $1.function, $1.object ?? "") }
    }
}
