import CFuzzer
import FuzzTargets
import Glibc

/// Passes the inputs of libFuzzer to the target that `FUZZ_TARGET` names. The file of the target is written below
/// `FUZZ_FOLDER`, an existing folder.
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
