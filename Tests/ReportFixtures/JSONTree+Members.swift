// SPDX-License-Identifier: Apache-2.0

package import WatchdogReport

extension JSONTree {
    package subscript(key: String) -> JSONTree? { members[key] }

    package var elements: [JSONTree] { if case .array(let elements) = self { elements } else { [] } }

    package var string: String? { if case .text(let text) = self { text } else { nil } }

    package var strings: [String] { elements.compactMap(\.string) }

    package var wholeNumber: Int64? { if case .integer(let value) = self { value } else { nil } }
}
