import Glibc

/// What a system call left in `errno`.
struct SystemFailure: Error, CustomStringConvertible {
    let number: Int32

    init(_ number: Int32 = errno) {
        self.number = number
    }

    var description: String { String(cString: strerror(number)) }
}
