import Glibc

/// The memory of the machine.
package enum PhysicalMemory {
    /// The physical memory in bytes; 0 if it is unknown.
    package static let bytes = max(0, sysconf(Int32(_SC_PHYS_PAGES))) * max(0, sysconf(Int32(_SC_PAGESIZE)))
}
