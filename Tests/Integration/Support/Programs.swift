import Foundation

/// The programs under test, from this build.
enum Programs {
    static let notifyd = path("notifyd")
    static let notifyctl = path("notifyctl")
    static let serviceGroupProgram = path("ServiceGroupProgram")

    /// The build folder contains the programs and the test runner.
    private static func path(_ name: String) -> String {
        let runner = (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")) ?? ""
        let beside = URL(filePath: runner).deletingLastPathComponent().appending(path: name).path
        if FileManager.default.isExecutableFile(atPath: beside) { return beside }
        return repository + "/.build/debug/" + name
    }

    /// The root folder of the repository.
    static let repository = URL(filePath: #filePath).pathComponents.dropLast(4).joined(separator: "/")
        .replacing(/^\/\//, with: "/")
}
