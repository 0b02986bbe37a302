// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import SampleSupport

/// The views that an interface file describes.
///
/// Loading a file creates all of them, even those that the first screen does not show.
struct Interface {
    struct Node: Codable {
        var kind: String
        var text: String
        var frame: [Int]
        var children: [Node]
    }

    final class View {
        let node: Node
        let center: (x: Int, y: Int)
        let picture: Raster?

        init(_ node: Node, imagePasses: Int) {
            self.node = node
            center = (node.frame[0] + node.frame[2] / 2, node.frame[1] + node.frame[3] / 2)
            // This kind of view is expensive to create, which the file does not reveal.
            picture = node.kind == "frosted" ? Self.frostedGlass(imagePasses) : nil
        }

        @inline(never)
        static func frostedGlass(_ passes: Int) -> Raster {
            (0..<passes).reduce(Raster.photo(3, side: 48)) { picture, _ in picture.blurred() }
        }
    }

    private(set) var views: [View] = []

    init(file: String, imagePasses: Int) throws {
        let nodes = try JSONDecoder().decode([Node].self, from: Data(contentsOf: URL(filePath: file)))
        for node in nodes { add(node, imagePasses) }
    }

    private mutating func add(_ node: Node, _ imagePasses: Int) {
        views.append(View(node, imagePasses: imagePasses))
        for child in node.children { add(child, imagePasses) }
    }

    /// Writes a file that describes `count` screens, of ten views each.
    static func write(_ count: Int, isFrosted: Bool = false, to file: String) throws {
        let screens = (0..<count).map { screen in
            Node(
                kind: "screen", text: "Screen \(screen)", frame: [0, 0, 480, 320],
                children: (1..<10).map { row in
                    Node(kind: "label", text: "Label \(row)", frame: [10, row * 26, 460, 22], children: [])
                })
        }
        let glass = Node(kind: "frosted", text: "", frame: [0, 0, 48, 48], children: [])
        try JSONEncoder().encode(screens + (isFrosted ? [glass] : [])).write(to: URL(filePath: file))
    }
}
