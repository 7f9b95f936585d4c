import Glibc
import NotifySystem
import SystemPackage

/// Prints to standard output, and reports a failure, which Swift's `print` ignores.
enum StandardOutput {
    /// Why standard output can't be written.
    struct Failure: Error, CustomStringConvertible {
        var reason: String

        var description: String { "can't write to standard output: \(reason)" }
    }

    /// Prints a text and a newline.
    static func print(_ text: String) throws(Failure) {
        guard !StandardDescriptors.wasClosed(STDOUT_FILENO) else { throw Failure(reason: "it is closed") }
        do throws(Errno) {
            let line = Array("\(text)\n".utf8)
            try Errno.typed { try line.withUnsafeBytes { try FileDescriptor.standardOutput.writeWhole($0) } }
        } catch {
            throw Failure(reason: error == .brokenPipe ? "its reader has closed it" : "\(error)")
        }
    }
}
