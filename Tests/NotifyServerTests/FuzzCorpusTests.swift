import Foundation
import FuzzTargets
import TestSupport
import Testing

/// Checks the inputs that the fuzzer found, without running the fuzzer.
@Suite struct FuzzCorpusTests {
    @Test(arguments: FuzzTarget.File.allCases)
    func `every file of the corpus has the properties that the fuzzer checks`(_ file: FuzzTarget.File) throws {
        let tests = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        let inputs = try FileManager.default.contentsOfDirectory(
            at: tests.appending(path: "Fuzz/Corpus/\(file.rawValue)"), includingPropertiesForKeys: nil)
        try #require(inputs.count >= 100)
        let folder = try TemporaryFolder()
        let target = FuzzTarget(file, in: folder.path)
        for input in inputs {
            let bytes = try Data(contentsOf: input)
            #expect(throws: Never.self, "\(input.lastPathComponent)") {
                try bytes.withUnsafeBytes { try target.test($0) }
            }
        }
    }
}
