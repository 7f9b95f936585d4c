package import Glibc
package import SystemPackage

/// The address of a Unix socket (`sockaddr_un`): a path, or an abstract name, which begins with a NUL byte.
package struct UnixSocketAddress: Sendable {
    /// The longest path: `sun_path` has 108 bytes, the last of which is the terminating NUL.
    package static let maximumPathBytes = 107

    private var storage: sockaddr_un
    private let length: socklen_t

    /// - Returns: `nil` if the path is empty, is longer than ``maximumPathBytes``, or contains a NUL.
    package init?(path: String) {
        guard !path.utf8.contains(0), path.utf8.count <= Self.maximumPathBytes else { return nil }
        self.init(bytes: Array(path.utf8), terminated: true)
    }

    /// An address in the abstract namespace, which has no file. `name` has no leading `@`.
    ///
    /// - Returns: `nil` if the name is longer than ``maximumPathBytes``.
    package init?(abstractName name: String) {
        guard name.utf8.count <= Self.maximumPathBytes else { return nil }
        self.init(bytes: [0] + Array(name.utf8), terminated: false)
    }

    private init?(bytes: [UInt8], terminated: Bool) {
        guard !bytes.isEmpty else { return nil }
        storage = sockaddr_un()
        storage.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &storage.sun_path) { $0.copyBytes(from: bytes) }
        // The length of an abstract name is part of the name; a path ends at its NUL.
        length = socklen_t(MemoryLayout<sa_family_t>.size + bytes.count + (terminated ? 1 : 0))
    }

    package func withSockaddr<Result>(_ body: (UnsafePointer<sockaddr>, socklen_t) -> Result) -> Result {
        withUnsafePointer(to: storage) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { body($0, length) }
        }
    }

    /// The path that a socket is bound to; `nil` if it is unbound, abstract or of another family.
    package static func boundPath(of socket: FileDescriptor) -> String? {
        var storage = sockaddr_un()
        var length = socklen_t(MemoryLayout<sockaddr_un>.size)
        let result = withUnsafeMutablePointer(to: &storage) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { getsockname(socket.rawValue, $0, &length) }
        }
        guard result == 0, storage.sun_family == sa_family_t(AF_UNIX) else { return nil }
        let bytes = withUnsafeBytes(of: storage.sun_path) { Array($0.prefix { $0 != 0 }) }
        return bytes.isEmpty ? nil : String(decoding: bytes, as: UTF8.self)
    }
}
