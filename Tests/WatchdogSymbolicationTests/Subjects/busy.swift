// SPDX-License-Identifier: Apache-2.0
//
// Works without end on strings, dictionaries, classes, protocols and closures, so that samples of its stack fall
// anywhere: into prologues, epilogues, and the runtime.
import Glibc

final class Node {
    var left: Node?
    var right: Node?
    let key: String

    init(_ key: String) {
        self.key = key
    }
}

func insert(_ key: String, into node: Node?) -> Node {
    guard let node else { return Node(key) }
    if key < node.key {
        node.left = insert(key, into: node.left)
    } else {
        node.right = insert(key, into: node.right)
    }
    return node
}

func depth(of node: Node?) -> Int {
    node.map { 1 + max(depth(of: $0.left), depth(of: $0.right)) } ?? 0
}

protocol Shape {
    func area(_ scale: Int) -> Int
}

struct Square: Shape {
    let side: Int

    func area(_ scale: Int) -> Int { side * side * scale }
}

struct Circle: Shape {
    let radius: Int

    func area(_ scale: Int) -> Int {
        (0..<radius).map { $0 ^ scale }.sorted(by: >).reduce(0, &+)
    }
}

func work(_ round: Int) -> Int {
    var groups: [String: [Int]] = [:]
    for number in 0..<300 { groups["\(number % 37)-\(round)", default: []].append(number) }
    var shapes: [any Shape] = []
    for number in 0..<20 {
        shapes.append(number % 2 == 0 ? Square(side: number) as any Shape : Circle(radius: number * 3))
    }
    var tree: Node?
    for key in groups.keys { tree = insert(key, into: tree) }
    let parts = groups.keys.sorted().joined(separator: ",").split(separator: "-").count
    return groups.values.map(\.count).reduce(parts, +) + shapes.reduce(0) { $0 &+ $1.area(round) } + depth(of: tree)
}

write(1, "ready\n", 6)
var total = 0
for round in 0... { total &+= work(round % 1000) }
print(total)
