// SPDX-License-Identifier: Apache-2.0

import Glibc

/// A failed operation, and the reason.
package struct ConditionerError: Error, CustomStringConvertible {
    package let operation: String
    package let number: Int32

    init(_ operation: String, errno number: Int32) {
        self.operation = operation
        self.number = number
    }

    package var description: String { "cannot \(operation): \(String(cString: strerror(number)))" }
}
