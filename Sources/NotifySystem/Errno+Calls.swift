import Glibc
package import SystemPackage

extension Errno {
    /// The error of the system call that failed last on this thread. Valid only right after the call.
    package static var last: Errno { Errno(rawValue: errno) }

    /// Checks the result of a system call that reports failure with a negative number.
    ///
    /// - Throws: The value of `errno` if `result` is negative.
    @discardableResult
    package static func check<Result: SignedInteger>(_ result: Result) throws(Errno) -> Result {
        guard result >= 0 else { throw last }
        return result
    }

    /// Runs methods of `FileDescriptor`: they throw only `Errno`, but are declared with an untyped `throws`.
    package static func typed<Result>(_ body: () throws -> Result) throws(Errno) -> Result {
        do {
            return try body()
        } catch let error as Errno {
            throw error
        } catch {
            preconditionFailure("a call of swift-system threw \(error)")
        }
    }
}
