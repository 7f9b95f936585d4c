package import Glibc
package import SystemPackage

/// A file descriptor that is closed when this value is destroyed, on every path out of a function.
package struct OwnedDescriptor: ~Copyable, Sendable {
    package let descriptor: FileDescriptor

    package init(owning descriptor: FileDescriptor) {
        self.descriptor = descriptor
    }

    package init(owning rawValue: CInt) {
        descriptor = FileDescriptor(rawValue: rawValue)
    }

    deinit {
        try? descriptor.close()
    }

    package var rawValue: CInt { descriptor.rawValue }

    /// Transfers the descriptor to the caller, which must close it.
    package consuming func release() -> FileDescriptor {
        let descriptor = self.descriptor
        discard self
        return descriptor
    }
}

extension OwnedDescriptor {
    /// Opens a file; child processes do not inherit the descriptor after `exec`.
    ///
    /// - Parameter permissions: The mode of a file that the call creates. Required if `options` contains `.create`.
    package static func open(
        _ path: String, _ mode: FileDescriptor.AccessMode, options: FileDescriptor.OpenOptions = [],
        permissions: FilePermissions? = nil
    ) throws(Errno) -> OwnedDescriptor {
        let descriptor = try Errno.typed {
            try FileDescriptor.open(
                FilePath(path), mode, options: options.union(.closeOnExec), permissions: permissions)
        }
        return OwnedDescriptor(owning: descriptor)
    }

    /// Opens a non-blocking Unix socket; child processes do not inherit it after `exec`.
    package static func unixSocket(_ type: __socket_type) throws(Errno) -> OwnedDescriptor {
        let flags = SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue
        return OwnedDescriptor(owning: try Errno.check(socket(AF_UNIX, CInt(type.rawValue | flags), 0)))
    }
}
