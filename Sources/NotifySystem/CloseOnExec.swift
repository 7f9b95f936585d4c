import Glibc

/// Sets close-on-exec on descriptors that SwiftNIO opens without it: its polling descriptors and accepted connections.
/// This package opens all other descriptors with it, so that no program that the process starts gets one.
///
/// The exception is a program that another thread starts between SwiftNIO's call and this one: it inherits a polling
/// descriptor, which gives no access to a socket, or, in the daemon, an accepted connection. The daemon starts no program.
package enum CloseOnExec {
    package static func set(_ descriptor: CInt) {
        _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
    }

    /// Sets close-on-exec on all epoll descriptors of the process. Call this after the creation of an event loop group.
    package static func setOnEventLoops() {
        guard let folder = opendir("/proc/self/fd") else { return }
        defer { closedir(folder) }
        while let entry = readdir(folder) {
            // Not by way of `d_name`: its 256 bytes extend beyond the entries that were read.
            guard let offset = MemoryLayout<dirent>.offset(of: \.d_name) else { return }
            let name = String(cString: UnsafeRawPointer(entry).advanced(by: offset).assumingMemoryBound(to: CChar.self))
            if let descriptor = CInt(name), isPolling(name) { set(descriptor) }
        }
    }

    private static func isPolling(_ name: String) -> Bool {
        var target = [CChar](repeating: 0, count: 64)
        let count = readlink("/proc/self/fd/" + name, &target, target.count)
        return target.prefix(max(0, count)).elementsEqual("anon_inode:[eventpoll]".utf8.map { CChar($0) })
    }
}
