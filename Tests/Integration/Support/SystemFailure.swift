import Glibc

/// A system call that failed, with the value of `errno` after it.
struct SystemFailure: Error, CustomStringConvertible {
    var description: String

    init(_ call: String, code: Int32 = errno) {
        description = "\(call): \(String(cString: strerror(code)))"
    }
}
