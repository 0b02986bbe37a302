// SPDX-License-Identifier: Apache-2.0

extension StringProtocol {
    /// The text in double quotes for a message: truncated, without control characters.
    func quoted(limit: Int = 80) -> String {
        "\"\(shown(limit: limit))\""
    }

    /// The text without control characters.
    var shown: String { shown(limit: .max) }

    private func shown(limit: Int) -> String {
        var result = String.UnicodeScalarView()
        var count = 0
        for scalar in unicodeScalars {
            guard count < limit else {
                result.append("…")
                break
            }
            result.append(scalar.isPrintable ? scalar : "\u{fffd}")
            count += 1
        }
        return String(result)
    }
}

extension Unicode.Scalar {
    /// False for characters that could move a terminal's cursor or reorder its line.
    var isPrintable: Bool {
        switch properties.generalCategory {
        case .control, .format, .lineSeparator, .paragraphSeparator, .surrogate: false
        default: true
        }
    }
}
