#include "sim/tests/support/programs/llvm_assembler.hpp"

#include <dlfcn.h>

#include <memory>
#include <stdexcept>

namespace rapt::sim::test {
namespace {

// LLVM's C interface, which is stable, as its Core.h, Target.h and TargetMachine.h declare it: Debian's LLVM has no
// headers with its library.
struct Context;
struct Module;
struct Target;
struct Machine;
struct Buffer;
struct Diagnostic;
enum class Severity { error };
enum class Level { none };
enum class Relocation { standard };
enum class CodeModel { standard };
enum class FileType { assembly, object };

class Llvm {
 public:
  static const Llvm& instance() {
    static const Llvm llvm;
    return llvm;
  }

  Context* (*create_context)();
  void (*dispose_context)(Context*);
  void (*set_handler)(Context*, void (*)(Diagnostic*, void*), void*);
  Severity (*severity)(Diagnostic*);
  char* (*description)(Diagnostic*);
  void (*dispose_message)(char*);
  Module* (*create_module)(const char*, Context*);
  void (*dispose_module)(Module*);
  void (*set_assembly)(Module*, const char*, std::size_t);
  Machine* (*create_machine)(Target*, const char*, const char*, const char*, Level, Relocation, CodeModel);
  void (*dispose_machine)(Machine*);
  int (*emit)(Machine*, Module*, FileType, char**, Buffer**);
  const char* (*start)(Buffer*);
  std::size_t (*size)(Buffer*);
  void (*dispose_buffer)(Buffer*);
  Target* target;

 private:
  template <typename F>
  void find(F& function, const std::string& name) {
    function = reinterpret_cast<F>(dlsym(library_, ("LLVM" + name).c_str()));
    if (!function) throw std::runtime_error(std::string("libLLVM-22: ") + dlerror());
  }

  Llvm() : library_(dlopen("libLLVM-22.so", RTLD_NOW | RTLD_LOCAL)) {
    if (!library_) throw std::runtime_error(dlerror());
    find(create_context, "ContextCreate");
    find(dispose_context, "ContextDispose");
    find(set_handler, "ContextSetDiagnosticHandler");
    find(severity, "GetDiagInfoSeverity");
    find(description, "GetDiagInfoDescription");
    find(dispose_message, "DisposeMessage");
    find(create_module, "ModuleCreateWithNameInContext");
    find(dispose_module, "DisposeModule");
    find(set_assembly, "SetModuleInlineAsm2");
    find(create_machine, "CreateTargetMachine");
    find(dispose_machine, "DisposeTargetMachine");
    find(emit, "TargetMachineEmitToMemoryBuffer");
    find(start, "GetBufferStart");
    find(size, "GetBufferSize");
    find(dispose_buffer, "DisposeMemoryBuffer");
    for (const char* part : {"TargetInfo", "Target", "TargetMC", "AsmParser", "AsmPrinter"}) {
      void (*initialize)();
      find(initialize, std::string("InitializeAMDGPU") + part);
      initialize();
    }
    int (*find_target)(const char*, Target**, char**);
    find(find_target, "GetTargetFromTriple");
    char* error = nullptr;
    if (find_target("amdgcn", &target, &error) != 0) throw std::runtime_error(error);
  }

  void* library_;
};

void add_error(Diagnostic* diagnostic, void* errors) {
  const Llvm& llvm = Llvm::instance();
  if (llvm.severity(diagnostic) != Severity::error) return;
  char* text = llvm.description(diagnostic);
  *static_cast<std::string*>(errors) += text;
  llvm.dispose_message(text);
}

}  // namespace

std::vector<char> assemble_object(const std::string& cpu, const std::string& features, std::string_view text) {
  const Llvm& llvm = Llvm::instance();
  const std::unique_ptr<Context, void (*)(Context*)> context(llvm.create_context(), llvm.dispose_context);
  std::string errors;
  llvm.set_handler(context.get(), add_error, &errors);
  // A module without functions, only with module-level assembly.
  const std::unique_ptr<Module, void (*)(Module*)> module(llvm.create_module("assembly", context.get()),
                                                          llvm.dispose_module);
  llvm.set_assembly(module.get(), text.data(), text.size());
  const std::unique_ptr<Machine, void (*)(Machine*)> machine(
      llvm.create_machine(llvm.target, "amdgcn", cpu.c_str(), features.c_str(), Level::none, Relocation::standard,
                          CodeModel::standard),
      llvm.dispose_machine);
  char* message = nullptr;
  Buffer* emitted = nullptr;
  if (llvm.emit(machine.get(), module.get(), FileType::object, &message, &emitted) != 0) {
    errors += message;
    llvm.dispose_message(message);
  }
  const std::unique_ptr<Buffer, void (*)(Buffer*)> object(emitted, llvm.dispose_buffer);
  if (!errors.empty()) throw std::runtime_error(errors + "\n" + std::string(text));
  return {llvm.start(object.get()), llvm.start(object.get()) + llvm.size(object.get())};
}

}  // namespace rapt::sim::test
