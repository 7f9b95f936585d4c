/// The source location of a registration.
public struct SourcePlace: Sendable, CustomStringConvertible {
    /// The file, as `Module/File.swift`.
    public let fileID: StaticString

    /// The line number.
    public let line: UInt

    /// `Module/File.swift:12`.
    public var description: String { "\(fileID):\(line)" }
}
