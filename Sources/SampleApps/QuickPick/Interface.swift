// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import SampleSupport

/// The views that an interface file describes.
///
/// Loading all of a file creates all of its views, even those that the first screen does not show.
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
        private static func frostedGlass(_ passes: Int) -> Raster {
            (0..<passes).reduce(Raster.photo(3, side: 48)) { picture, _ in picture.blurred() }
        }
    }

    /// The blurs of an expensive view.
    static let imagePasses = SampleApp.passes(35_000)

    private(set) var views: [View] = []

    /// Loads a file of one interface.
    init(file: String, imagePasses: Int) throws {
        try self.init(Data(contentsOf: URL(filePath: file)), imagePasses)
    }

    fileprivate init(_ data: Data, _ imagePasses: Int) throws {
        for node in try JSONDecoder().decode([Node].self, from: data) { add(node, imagePasses) }
    }

    private mutating func add(_ node: Node, _ imagePasses: Int) {
        views.append(View(node, imagePasses: imagePasses))
        for child in node.children { add(child, imagePasses) }
    }

    // MARK: - Files

    /// Writes all screens into one file, the first one and a cell of its list into files of their own, and all of them once
    /// more into a ``Storyboard``.
    static func write(screens count: Int, to folder: String) throws {
        let glass = Node(kind: "frosted", text: "", frame: [0, 0, 48, 48], children: [])
        let all = screens(count) + [glass]
        try JSONEncoder().encode(all).write(to: URL(filePath: "\(folder)/everything.json"))
        for name in ["table", "cell"] {
            try JSONEncoder().encode(screens(1)).write(to: URL(filePath: "\(folder)/\(name).json"))
        }
        let scenes = [("table", screens(1)), ("cell", screens(1)), ("photo", screens(4)), ("others", all)]
        try Storyboard.write(scenes, to: "\(folder)/storyboard")
    }

    private static func screens(_ count: Int) -> [Node] {
        (0..<count).map { screen in
            Node(
                kind: "screen", text: "Screen \(screen)", frame: [0, 0, 480, 320],
                children: (1..<10).map { row in
                    Node(kind: "label", text: "Label \(row)", frame: [10, row * 26, 460, 22], children: [])
                })
        }
    }
}

/// One file with the interfaces of all scenes, each of which is unpacked when it is first shown.
///
/// The first line is a JSON object that maps the name of each scene to the range of its bytes after that line.
struct Storyboard {
    private let scenes: [String: Range<Int>]
    private let content: Data

    init(file: String) throws {
        // What is not unpacked is not even read.
        let data = try Data(contentsOf: URL(filePath: file), options: .alwaysMapped)
        let end = data.firstIndex(of: UInt8(ascii: "\n")) ?? data.endIndex
        scenes = try JSONDecoder().decode([String: Range<Int>].self, from: data[..<end])
        content = data[end...].dropFirst()
    }

    /// Unpacks a scene; nil if there is none of this name.
    func interface(_ scene: String, imagePasses: Int) throws -> Interface? {
        guard let range = scenes[scene], range.upperBound <= content.count else { return nil }
        return try Interface(content.dropFirst(range.lowerBound).prefix(range.count), imagePasses)
    }

    static func write(_ scenes: [(name: String, nodes: [Interface.Node])], to file: String) throws {
        var (index, content) = ([String: Range<Int>](), Data())
        for (name, nodes) in scenes {
            let scene = try JSONEncoder().encode(nodes)
            index[name] = content.count..<content.count + scene.count
            content += scene
        }
        try (JSONEncoder().encode(index) + Data("\n".utf8) + content).write(to: URL(filePath: file))
    }
}
