package import Glibc

/// A file descriptor that is closed when its owner goes, on every path out of a function.
package struct OwnedDescriptor: ~Copyable, Sendable {
    package let rawValue: CInt

    package init(owning rawValue: CInt) {
        self.rawValue = rawValue
    }

    deinit {
        close(rawValue)
    }

    /// Gives the descriptor to the caller, who closes it from now on.
    package consuming func release() -> CInt {
        let rawValue = self.rawValue
        discard self
        return rawValue
    }
}

extension OwnedDescriptor {
    /// A Unix socket that does not block and is not inherited by programs the process starts.
    package static func unixSocket(_ type: __socket_type) throws(SystemCallError) -> OwnedDescriptor {
        let flags = SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue
        let descriptor = socket(AF_UNIX, CInt(type.rawValue | flags), 0)
        guard descriptor >= 0 else { throw SystemCallError("socket") }
        return OwnedDescriptor(owning: descriptor)
    }
}
