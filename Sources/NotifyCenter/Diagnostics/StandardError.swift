#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

/// The standard error stream, to which the default hooks write.
enum StandardError {
    /// Writes a line. Ignores errors, because there is nowhere to report them.
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
