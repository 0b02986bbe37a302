// SPDX-License-Identifier: Apache-2.0

import WatchdogBase

/// The stacks of one thread merged into a tree, outermost call first, each call with the number of samples that showed
/// it.
package struct CallTree: Equatable {
    /// A function on a stack, below the same callers.
    package struct Node: Equatable {
        /// The function, or the image and offset; for a leaf in the kernel, the wait of the thread.
        package let name: String
        /// The name of the image; nil for ``isPlace``.
        package let image: String?
        /// The file and line, if all samples agree on them.
        package var source: String?
        /// Whether this is a leaf for the state of the thread: on a CPU, or where it was blocked.
        package let isPlace: Bool
        package var count = 0
        /// The indices of the callees, in the order in which they were first seen.
        var children: [Int] = []
    }

    private struct Key: Hashable {
        let parent: Int
        let name: String
        let image: String?
        let isPlace: Bool
    }

    /// The first node is the thread itself.
    package private(set) var nodes: [Node]
    private var indices: [Key: Int] = [:]

    package static func == (one: CallTree, other: CallTree) -> Bool { one.nodes == other.nodes }

    package init(of thread: ProcessSamples.Thread, in samples: ProcessSamples) {
        nodes = [Node(name: "", image: nil, source: nil, isPlace: false)]
        for run in thread.runs { add(samples.stacks[run.stack], count: run.count, samples.images) }
    }

    private mutating func add(_ stack: ProcessSamples.Stack, count: Int, _ images: [BinaryImage]) {
        nodes[0].count += count
        var place = 0
        for frame in stack.asynchronousFrames.reversed() + stack.frames.reversed() {
            place = child(of: place, frame, images)
            nodes[place].count += count
        }
        place = child(of: place, Key(parent: place, name: stack.place, image: nil, isPlace: true), source: nil)
        nodes[place].count += count
    }

    private mutating func child(of parent: Int, _ frame: Frame, _ images: [BinaryImage]) -> Int {
        let image = images.indices.contains(frame.imageIndex) ? images[frame.imageIndex] : .unknown
        let name = frame.symbol ?? "\(image.name) + \(frame.imageOffset.hexadecimal())"
        let source = frame.sourceFile.map { file in
            let name = file.split(separator: "/").last.map(String.init) ?? file
            return frame.sourceLine.map { "\(name):\($0)" } ?? name
        }
        let key = Key(
            parent: parent, name: name.singleLine(limit: 1_024), image: image.name.singleLine(limit: 255),
            isPlace: false)
        return child(of: parent, key, source: source?.singleLine(limit: 255))
    }

    private mutating func child(of parent: Int, _ key: Key, source: String?) -> Int {
        if let index = indices[key] {
            if nodes[index].source != source { nodes[index].source = nil }
            return index
        }
        let index = nodes.count
        nodes.append(Node(name: key.name, image: key.image, source: source, isPlace: key.isPlace))
        nodes[parent].children.append(index)
        indices[key] = index
        return index
    }

    /// The callees of a node, heaviest first.
    package func children(of index: Int) -> [Int] {
        nodes[index].children.sorted { (nodes[$1].count, $0) < (nodes[$0].count, $1) }
    }

    /// The heaviest path from the root: at each node, the heaviest callee.
    package var heaviestPath: [Node] {
        var path: [Node] = []
        var index = 0
        while let next = children(of: index).first {
            path.append(nodes[next])
            index = next
        }
        return path
    }

    /// Visits every leaf with the calls that led to it, outermost first.
    package func leaves(_ body: (_ path: [Node], _ leaf: Node) -> Void) {
        var path: [Node] = []
        func visit(_ index: Int) {
            for child in children(of: index) {
                if nodes[child].isPlace {
                    body(path, nodes[child])
                } else {
                    path.append(nodes[child])
                    visit(child)
                    path.removeLast()
                }
            }
        }
        visit(0)
    }
}
