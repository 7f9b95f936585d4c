import Glibc

/// The environment of this process.
enum OwnEnvironment {
    /// The entries: each is a name, `=` and a value, all of any bytes except NUL.
    static var entries: [[UInt8]] {
        var entries: [[UInt8]] = []
        // No other thread changes the environment: notifyctl sets its variables before it starts threads.
        var entry = environ
        while let bytes = entry.pointee {
            entries.append(Array(UnsafeRawBufferPointer(start: bytes, count: strlen(bytes))))
            entry += 1
        }
        return entries
    }
}
