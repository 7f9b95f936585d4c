import Glibc

/// A system call that failed: its name and the `errno` it left.
package struct SystemCallError: Error, Sendable, Equatable, CustomStringConvertible {
    package let call: String
    package let errorNumber: CInt

    /// Reads `errno`, so it must be made right after the call, before anything else can overwrite it.
    package init(_ call: String) {
        self.init(call, errorNumber: errno)
    }

    package init(_ call: String, errorNumber: CInt) {
        self.call = call
        self.errorNumber = errorNumber
    }

    package var description: String {
        "\(call): \(String(cString: strerror(errorNumber)))"
    }
}
