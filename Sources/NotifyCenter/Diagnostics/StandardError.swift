#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

/// Where a center tells what nobody else was told to take care of.
enum StandardError {
    /// Writes a line. What can't be written is lost: there is nobody left to tell.
    static func write(_ line: String) {
        var line = line + "\n"
        line.withUTF8 { bytes in
            #if canImport(Glibc)
                _ = Glibc.write(STDERR_FILENO, bytes.baseAddress, bytes.count)
            #elseif canImport(Musl)
                _ = Musl.write(STDERR_FILENO, bytes.baseAddress, bytes.count)
            #elseif canImport(Darwin)
                _ = Darwin.write(STDERR_FILENO, bytes.baseAddress, bytes.count)
            #endif
        }
    }
}
