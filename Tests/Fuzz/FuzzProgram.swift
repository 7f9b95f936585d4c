import CFuzzer
import FuzzTargets
import Glibc

/// Passes the inputs of libFuzzer to the target with the name in `FUZZ_TARGET`. The file of the target is written below
/// the existing folder in `FUZZ_FOLDER`.
@main
enum FuzzProgram {
    private static let target: FuzzTarget = {
        guard let name = getenv("FUZZ_TARGET"), let folder = getenv("FUZZ_FOLDER"),
            let file = FuzzTarget.File(rawValue: String(cString: name))
        else { fatalError("run this with Tests/Fuzz/run") }
        return FuzzTarget(file, in: String(cString: folder))
    }()

    static func main() {
        var count = CommandLine.argc
        var arguments: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>? = CommandLine.unsafeArgv
        exit(
            LLVMFuzzerRunDriver(&count, &arguments) { input, size in
                do {
                    try FuzzProgram.target.test(UnsafeRawBufferPointer(start: input, count: size))
                } catch {
                    fatalError("\(error)")
                }
                return 0
            })
    }
}
